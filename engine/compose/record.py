"""Records a run, and repeats a recorded one without database, model and network.

A record holds what came from outside: the passages found, each answer of a model by step and hash
of its prompt, the pages of the web and the scores of the reranker. A replay asks for these alone,
so that a prompt which has changed since finds no answer, and the step says so.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from engine.compose.asking import StepModel
from engine.compose.composition import ComposeRequest, RetrievedPassages, StepName
from engine.compose.models import Models, StepModels
from engine.compose.run import ComposeParts, Rerankers
from engine.errors import InputError, ModelAnswerInvalid, ModelError
from engine.llm.asking import ChatModel
from engine.llm.endpoint import Consent
from engine.llm.wire import ChatAnswer, PromptMessage
from engine.messages import Message
from engine.ports import Reranker
from engine.settings.models import ComposeSettings
from engine.values import ScoredText
from engine.web.results import Web, WebFindings


@dataclass(slots=True)
class RecordedAnswer:
    """One answer of a model, or the words with which it failed."""

    purpose: str
    prompt: str  # SHA-256 of the messages
    answer: ChatAnswer | None = None
    failure: Message | None = None


@dataclass(slots=True)
class RunRecord:
    """What a run was given."""

    request: ComposeRequest
    now: datetime
    settings: ComposeSettings
    web: bool = False  # whether a search provider was set up
    retrieved: RetrievedPassages = field(default_factory=RetrievedPassages)
    answers: list[RecordedAnswer] = field(default_factory=list)
    findings: WebFindings | None = None
    scores: list[float] | None = None  # of the reranker
    unranked: Message | None = None  # why the reranker gave none


_RECORDS = TypeAdapter(RunRecord)


def save_record(record: RunRecord, path: Path) -> None:
    """Write a record as JSON, for its owner alone: it quotes private corpora. Raises InputError."""
    try:
        path.touch(mode=0o600)
        if path.is_file():  # no terminal and no pipe
            path.chmod(0o600)
        path.write_bytes(_RECORDS.dump_json(record, indent=1))
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise InputError(
            Message("{path} cannot be written: {reason}.", path=path, reason=reason)
        ) from exc


def read_record(path: Path) -> RunRecord:
    """Read a record. Raises InputError."""
    try:
        return _RECORDS.validate_json(path.read_bytes())
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise InputError(
            Message("{path} cannot be read: {reason}.", path=path, reason=reason)
        ) from exc
    except ValidationError as exc:
        raise InputError(Message("{path} is not the record of a run.", path=path)) from exc


def prompt_hash(messages: Sequence[PromptMessage]) -> str:
    """Return the SHA-256 of what a model is asked."""
    asked = "\0".join(f"{message.role}\0{message.content}" for message in messages)
    return sha256(asked.encode("utf-8", "replace")).hexdigest()


def record_parts(parts: ComposeParts, record: RunRecord) -> ComposeParts:
    """Return parts that write down in `record` what they give."""

    async def find(request: ComposeRequest, now: datetime) -> RetrievedPassages:
        record.retrieved = await parts.find(request, now)
        return record.retrieved

    record.web = parts.web is not None and parts.web.available
    return replace(
        parts,
        find=find,
        models=parts.models and _RecordingModels(parts.models, record),
        web=parts.web and _RecordingWeb(parts.web, record),
        rerankers=_record_rerankers(parts.rerankers, record) if parts.rerankers else None,
    )


def _record_rerankers(rerankers: Rerankers, record: RunRecord) -> Rerankers:
    return lambda corpora: _RecordingReranker(rerankers(corpora), record)


class _RecordingModels:
    def __init__(self, models: Models, record: RunRecord) -> None:
        self._models = models
        self._record = record

    @property
    def consent(self) -> Consent:
        return self._models.consent

    @asynccontextmanager
    async def reserve_steps(
        self, steps: Sequence[StepName], *, now: datetime
    ) -> AsyncIterator[StepModels]:
        async with self._models.reserve_steps(steps, now=now) as models:
            yield {
                name: replace(model, model=_RecordingModel(model.model, self._record))
                for name, model in models.items()
            }


class _RecordingModel:
    def __init__(self, model: ChatModel, record: RunRecord) -> None:
        self._model = model
        self._record = record

    @property
    def model(self) -> str:
        return self._model.model

    @property
    def consent(self) -> Consent:
        return self._model.consent

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: str,
        now: datetime,
        schema: Mapping[str, object] | None = None,
    ) -> ChatAnswer:
        entry = RecordedAnswer(purpose, prompt_hash(messages))
        self._record.answers.append(entry)
        try:
            entry.answer = await self._model.complete(
                messages, purpose=purpose, now=now, schema=schema
            )
        except ModelError as error:
            entry.failure = error.said
            raise
        return entry.answer


class _RecordingWeb:
    def __init__(self, web: Web, record: RunRecord) -> None:
        self._web = web
        self._record = record

    @property
    def available(self) -> bool:
        return self._web.available

    async def gather(
        self, queries: Sequence[str], *, deadline: float, now: datetime
    ) -> WebFindings:
        self._record.findings = await self._web.gather(queries, deadline=deadline, now=now)
        return self._record.findings


class _RecordingReranker:
    def __init__(self, reranker: Reranker, record: RunRecord) -> None:
        self._reranker = reranker
        self._record = record

    @property
    def name(self) -> str:
        return self._reranker.name

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> Sequence[float]:
        self._record.unranked = Message("The reranker gave nothing in time.")
        try:
            self._record.scores = list(await self._reranker.rerank(query, texts))
        except ModelError as error:
            self._record.unranked = error.said
            raise
        return self._record.scores


def replay_parts(record: RunRecord, *, clock: Callable[[], float]) -> ComposeParts:
    """Return parts that give what `record` holds. `clock` returns monotonic seconds."""

    async def find(request: ComposeRequest, now: datetime) -> RetrievedPassages:  # noqa: ARG001 - recorded
        return record.retrieved

    reranked = record.scores is not None or record.unranked is not None
    return ComposeParts(
        find=find,
        models=_ReplayedModels(record),
        web=_ReplayedWeb(record) if record.web else None,
        rerankers=(lambda _: _ReplayedReranker(record)) if reranked else None,
        settings=record.settings,
        clock=clock,
    )


class _ReplayedModels:
    """Every step's model, answering from the record; nothing is spent and nothing is sent."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record

    @property
    def consent(self) -> Consent:
        return _HERE

    @asynccontextmanager
    async def reserve_steps(
        self,
        steps: Sequence[StepName],
        *,
        now: datetime,  # noqa: ARG002 - nothing is reserved
    ) -> AsyncIterator[StepModels]:
        model = _ReplayedModel(self._record)
        yield {name: StepModel(model=model, seconds=60) for name in steps}


_HERE = Consent(base_url="http://localhost", setting="")


class _ReplayedModel:
    def __init__(self, record: RunRecord) -> None:
        self._left = list(record.answers)
        self._model = "record"

    @property
    def model(self) -> str:
        return self._model

    @property
    def consent(self) -> Consent:
        return _HERE

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: str,
        now: datetime,  # noqa: ARG002 - recorded
        schema: Mapping[str, object] | None = None,  # noqa: ARG002 - recorded
    ) -> ChatAnswer:
        key = (purpose, prompt_hash(messages))
        for at, call in enumerate(self._left):
            if (call.purpose, call.prompt) == key:
                del self._left[at]
                if call.answer is None:
                    raise ModelError(call.failure or Message("It was not answered in time."))
                return call.answer
        raise ModelAnswerInvalid(Message("The record holds no answer to this prompt."))


class _ReplayedWeb:
    def __init__(self, record: RunRecord) -> None:
        self._record = record

    @property
    def available(self) -> bool:
        return True

    async def gather(
        self,
        queries: Sequence[str],  # noqa: ARG002 - recorded
        *,
        deadline: float,  # noqa: ARG002 - recorded
        now: datetime,  # noqa: ARG002 - recorded
    ) -> WebFindings:
        return self._record.findings or WebFindings()


class _ReplayedReranker:
    def __init__(self, record: RunRecord) -> None:
        self._record = record

    @property
    def name(self) -> str:
        return "record"

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> Sequence[float]:  # noqa: ARG002 - recorded
        if self._record.scores is None:
            raise ModelError(self._record.unranked or Message("The record holds no scores."))
        return self._record.scores

"""Repeating a recorded run: every answer comes from the record, and nothing is spent or sent."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from engine.compose.asking import StepModel
from engine.compose.models import StepModels
from engine.compose.record import RunRecord, prompt_hash
from engine.compose.run import ComposeParts
from engine.compose.types import ComposeRequest, RetrievedPassages, StepName
from engine.errors import ModelAnswerInvalid, ModelError
from engine.llm.consent import Consent
from engine.llm.wire import ChatAnswer, PromptMessage
from engine.messages import Message
from engine.types import ScoredText
from engine.web.types import WebFindings


def replaying(record: RunRecord, *, clock: Callable[[], float]) -> ComposeParts:
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
    async def reserved(
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
        for at, one in enumerate(self._left):
            if (one.purpose, one.prompt) == key:
                del self._left[at]
                if one.answer is None:
                    raise ModelError(one.failure or Message("It was not answered in time."))
                return one.answer
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

"""Records a run of `compose`, and repeats a recorded one without database, model and network.

`python -m bench.replay PROMPT --record FILE [options of presagio compose]`
`python -m bench.replay --replay FILE [--explain] [--json]`

A record holds what came from outside: the passages found, each answer of a model by step and hash
of its prompt, the pages of the web and the scores of the reranker. A replay asks for these alone,
so that a prompt which has changed since finds no answer, and the step says so.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from bench.evaluate import run
from bot.cli.compose import ComposeOptions, build_request, print_composition
from bot.cli.shared import parse_string, read_clock, run_in_app, spread_options
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.queries.compose import build_composer
from bot.signals import run_until_signal
from engine.compose.composition import ComposeRequest, RetrievedPassages, StepName
from engine.compose.models import Models, StepModels
from engine.compose.run import Composer
from engine.errors import InputError, ModelAnswerInvalid, ModelError, UsageError
from engine.llm.asking import ChatModel, StepModel
from engine.llm.endpoint import Consent
from engine.llm.wire import ChatAnswer, PromptMessage
from engine.messages import Message
from engine.ports import Reranker
from engine.settings.models import ComposeSettings
from engine.values import ScoredText
from engine.web.results import Web, WebFindings

if TYPE_CHECKING:
    from bot.app import App

_HERE = Consent(base_url="http://localhost", setting="")


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
    scores: dict[str, list[float]] = field(default_factory=dict)  # of the reranker, by query
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
        raise InputError(f"{path} cannot be written: {reason}.") from exc


def read_record(path: Path) -> RunRecord:
    """Read a record. Raises InputError."""
    try:
        return _RECORDS.validate_json(path.read_bytes())
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise InputError(f"{path} cannot be read: {reason}.") from exc
    except ValidationError as exc:
        raise InputError(f"{path} is not the record of a run.") from exc


def prompt_hash(messages: Sequence[PromptMessage]) -> str:
    """Return the SHA-256 of what a model is asked."""
    asked = "\0".join(f"{message.role}\0{message.content}" for message in messages)
    return sha256(asked.encode("utf-8", "replace")).hexdigest()


def record_composer(composer: Composer, record: RunRecord) -> Composer:
    """Return a composer that writes down in `record` what its parts give."""

    async def find(request: ComposeRequest, now: datetime) -> RetrievedPassages:
        record.retrieved = await composer.find(request, now)
        return record.retrieved

    rerankers = composer.rerankers
    record.web = composer.web is not None and composer.web.available
    return Composer(
        find,
        composer.models and _Models(record, composer.models),
        web=composer.web and _Web(record, composer.web),
        rerankers=rerankers and (lambda corpora: _Reranker(record, rerankers(corpora))),
        settings=composer.settings,
        clock=composer.clock,
    )


def replay_composer(record: RunRecord, *, clock: Callable[[], float]) -> Composer:
    """Return a composer that works with what `record` holds. `clock` returns monotonic seconds."""

    async def find(request: ComposeRequest, now: datetime) -> RetrievedPassages:  # noqa: ARG001 - recorded
        return record.retrieved

    reranked = record.scores or record.unranked is not None
    return Composer(
        find,
        _Models(record),
        web=_Web(record) if record.web else None,
        rerankers=(lambda _: _Reranker(record)) if reranked else None,
        settings=record.settings,
        clock=clock,
    )


# Each of these writes down what `inner` gives, or gives again what was written down.


@dataclass(frozen=True, slots=True)
class _Models:
    record: RunRecord
    inner: Models | None = None

    @property
    def consent(self) -> Consent:
        return self.inner.consent if self.inner else _HERE

    @asynccontextmanager
    async def reserve_steps(
        self, steps: Sequence[StepName], *, now: datetime
    ) -> AsyncIterator[StepModels]:
        if self.inner is None:  # nothing is spent and nothing is sent
            model = _Model(self.record)
            yield {name: StepModel(model=model, seconds=60) for name in steps}
            return
        async with self.inner.reserve_steps(steps, now=now) as models:
            yield {
                name: replace(step, model=_Model(self.record, step.model))
                for name, step in models.items()
            }


class _Model:
    def __init__(self, record: RunRecord, inner: ChatModel | None = None) -> None:
        self._answers = record.answers if inner else list(record.answers)
        self._inner = inner

    @property
    def model(self) -> str:
        return self._inner.model if self._inner else "record"

    @property
    def consent(self) -> Consent:
        return self._inner.consent if self._inner else _HERE

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: str,
        now: datetime,
        schema: Mapping[str, object] | None = None,
    ) -> ChatAnswer:
        if self._inner is None:
            return self._repeat_answer(purpose, prompt_hash(messages))
        entry = RecordedAnswer(purpose, prompt_hash(messages))
        self._answers.append(entry)
        try:
            entry.answer = await self._inner.complete(
                messages, purpose=purpose, now=now, schema=schema
            )
        except ModelError as error:
            entry.failure = error.full_message
            raise
        return entry.answer

    def _repeat_answer(self, purpose: str, prompt: str) -> ChatAnswer:
        for at, entry in enumerate(self._answers):
            if (entry.purpose, entry.prompt) == (purpose, prompt):
                del self._answers[at]
                if entry.answer is None:
                    raise ModelError(entry.failure or Message("It was not answered in time."))
                return entry.answer
        raise ModelAnswerInvalid(Message("The record holds no answer to this prompt."))


@dataclass(frozen=True, slots=True)
class _Web:
    record: RunRecord
    inner: Web | None = None

    @property
    def available(self) -> bool:
        return self.inner is None or self.inner.available

    async def gather(
        self, queries: Sequence[str], *, deadline: float, now: datetime
    ) -> WebFindings:
        if self.inner:
            self.record.findings = await self.inner.gather(queries, deadline=deadline, now=now)
        return self.record.findings or WebFindings()


@dataclass(frozen=True, slots=True)
class _Reranker:
    record: RunRecord
    inner: Reranker | None = None

    @property
    def name(self) -> str:
        return self.inner.name if self.inner else "record"

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> Sequence[float]:
        if self.inner:
            self.record.unranked = Message("The reranker gave nothing in time.")
            try:
                self.record.scores[query] = list(await self.inner.rerank(query, texts))
            except ModelError as error:
                self.record.unranked = error.full_message
                raise
        if query not in self.record.scores:
            raise ModelError(self.record.unranked or Message("The record holds no scores."))
        return self.record.scores[query]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions(ComposeOptions):
    """Those of `presagio compose`, and the files."""

    record: Annotated[
        Path | None, typer.Option("--record", help="Write what the run was given to this file.")
    ] = None
    replay: Annotated[
        Path | None, typer.Option("--replay", help="Repeat a recorded run; takes no prompt.")
    ] = None


async def record_run(
    app: "App", prompt: str, options: ReplayOptions, path: Path, *, now: datetime, output: Output
) -> None:
    """Write tweets, and what they were made from to a file."""
    request, composer = await build_request(app, prompt, options), build_composer(app)
    record = RunRecord(request=request, now=now, settings=composer.settings)
    try:
        composition = await record_composer(composer, record).compose(request, now=now)
    finally:
        save_record(record, path)
    print_composition(composition, options, output, words_for(DEFAULT, operator=True))


async def repeat_run(path: Path, options: ReplayOptions, *, output: Output) -> None:
    """Repeat a recorded run, without database and model. Raises InputError."""
    recorded = read_record(path)
    composer = replay_composer(recorded, clock=time.perf_counter)
    composition = await composer.compose(recorded.request, now=recorded.now)
    print_composition(composition, options, output, words_for(DEFAULT, operator=True))


program = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@program.command()
@spread_options
def command(
    context: typer.Context,
    prompt: Annotated[
        str | None, typer.Argument(help="What to write about, in quotes.", callback=parse_string)
    ] = None,
    *,
    options: ReplayOptions,
) -> None:
    """Record a run of compose, or repeat one."""
    output = Output.of_process()
    if options.replay and prompt is None:
        run_until_signal(repeat_run(options.replay, options, output=output))
    elif options.record and prompt is not None and not options.replay:
        path, now = options.record, read_clock()
        run_in_app(context, record_run, prompt, options, path, now=now, output=output)
    else:
        raise UsageError("Give a prompt and --record FILE, or --replay FILE.")


if __name__ == "__main__":
    run(program)

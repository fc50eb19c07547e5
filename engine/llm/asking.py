"""One question to the model: shared by equal requests, asked again if the answer is unusable.

`ask_step` asks for a value that is read from the answer, within a deadline.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Generic, Protocol, TypeVar

from engine.errors import (
    CorpusWithheld,
    ModelAnswerCut,
    ModelAnswerInvalid,
    ModelDeclined,
    ModelError,
)
from engine.llm.endpoint import Consent
from engine.llm.wire import ChatAnswer, PromptMessage
from engine.messages import Message
from engine.values import Corpus, Usage, add_usage

logger = logging.getLogger("presagio.llm")

UNREADABLE = Message("The model answered nothing that can be read.")
_LONGEST_READ = 64_000  # characters of an answer

T = TypeVar("T")
Read = Callable[[str, Counter[str]], T | None]  # content and damage -> value, None if unusable


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Runs the work for a key once, however many callers request it at the same time.

    The work is a separate task, so cancelling one caller does not affect the others. When the last
    caller is cancelled, so is the work: it never outlives its callers.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    async def run(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns, or raise what it raises."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                # Removed first: a caller that arrives now must not join work that is cancelled.
                del self._flights[key]
                if not flight.task.done():
                    flight.task.cancel()
                    await asyncio.wait([flight.task])


class LastingFlight(Generic[T]):
    """Runs the work for a key once, and to its end even if its callers stop waiting.

    It suits work that is paid for once it has begun. `aclose` cancels what is still under way.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._flights

    async def run(
        self, key: str, work: Callable[[], Coroutine[Any, Any, T]], *, seconds: float
    ) -> T | None:
        """Return what `work` returns, or None if it does not end within `seconds`.

        Raises what `work` raises in that time; later errors are logged.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda _: self._end_flight(key))
        flight.waiters += 1
        try:
            await asyncio.wait([flight.task], timeout=seconds)
        finally:
            flight.waiters -= 1
        ended = flight.task.done() and not flight.task.cancelled()
        return flight.task.result() if ended else None

    async def aclose(self) -> None:
        """Cancel the work that is still under way, and wait until it has ended."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end_flight(self, key: str) -> None:
        flight = self._flights.pop(key)
        error = None if flight.task.cancelled() else flight.task.exception()
        if error and not flight.waiters:
            logger.warning("work that nobody waited for any more failed: %s", type(error).__name__)


def compact_json(value: object) -> str:
    """Return a value as JSON on one line, without spaces, which would cost tokens."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build_strict_schema(name: str, properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return a schema in strict mode: every property required and nothing else allowed."""
    return {"name": name, "strict": True, "schema": _close_schema(properties)}


def list_of(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return the schema of a list of objects that have exactly these properties."""
    return {"type": "array", "items": _close_schema(properties)}


def _close_schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The system prompt, what to add to it the second time, and the schema of the answer.

    Without `repair`, a question is asked only once. The version enters cache keys and logs; it is
    made from all of the texts, so that no answer to a changed prompt comes from a cache.
    """

    system: str
    repair: str | None = None
    schema: Mapping[str, object]  # its "name" is that of the prompt
    version: str = field(init=False)

    def __post_init__(self) -> None:
        texts = json.dumps([self.system, self.repair, self.schema])
        digest = sha256(texts.encode()).hexdigest()[:12]
        object.__setattr__(self, "version", f"{self.schema['name']}-{digest}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """A question. `corpora` are those that the content is about or has texts from."""

    prompt: Prompt
    content: str
    corpora: Sequence[Corpus]
    purpose: str  # name in the ledger


class ChatModel(Protocol):
    """A model that answers chats: a client, or the record of one."""

    @property
    def model(self) -> str:
        """Name of the preferred model."""

    @property
    def consent(self) -> Consent:
        """Which private corpora it may read."""

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: str,
        now: datetime,
        schema: Mapping[str, object] | None = None,
    ) -> ChatAnswer:
        """Return the answer, as `engine.llm.client.ChatClient.complete` does. Raises ModelError."""


async def ask_and_repair(
    client: ChatModel,
    question: ModelQuestion,
    parse: Callable[[ChatAnswer], bool],
    *,
    now: datetime,
) -> ModelError | None:
    """Ask until `parse` finds an answer usable: at most twice, or once without a repair prompt.

    Returns the failure of the last call, or None if it was answered, usable or not. An answer
    that was cut off is not requested again, as it would be cut off again. If the endpoint may not
    read one of the corpora, nothing is sent and CorpusWithheld is returned. Raises what the ledger
    raises.
    """
    try:
        client.consent.require(question.corpora)
    except CorpusWithheld as withheld:
        return withheld
    error: ModelError | None = None
    prompt = question.prompt
    repaired = () if prompt.repair is None else (prompt.system + prompt.repair,)
    for system in (prompt.system, *repaired):
        try:
            answer = await client.complete(
                [PromptMessage("system", system), PromptMessage("user", question.content)],
                purpose=question.purpose,
                now=now,
                schema=prompt.schema,
            )
        except ModelError as failure:
            error = failure
            if is_unreadable(failure):
                continue
            return error
        error = None
        if parse(answer):
            break
    return error


def is_unreadable(failure: ModelError) -> bool:
    """Return whether the model answered, but a second attempt may give a better answer."""
    lasting = (ModelAnswerCut, ModelDeclined)
    return isinstance(failure, ModelAnswerInvalid) and not isinstance(failure, lasting)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """The model of one step, and the seconds that it has for all its attempts, if so few."""

    model: ChatModel
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome(Generic[T]):
    """What the model answered. Without a value, `failure` says why."""

    value: T | None = None
    usage: Usage | None = None
    model: str | None = None
    failure: Message | None = None
    damage: Mapping[str, int] = field(default_factory=dict)


async def ask_step(
    step: StepModel,
    prompt: Prompt,
    content: str,
    read: Read[T],
    *,
    corpora: Sequence[Corpus],
    now: datetime,
    purpose: str,
    satisfied: Callable[[T], bool] = lambda _: True,
) -> StepOutcome[T]:
    """Ask for one step, once more if the answer is unusable or not `satisfied` by it.

    `purpose` is the name of the call in the ledger. Never raises ModelError; raises what the ledger
    raises.
    """
    attempts = _Attempts(read=read, satisfied=satisfied)
    question = ModelQuestion(prompt=prompt, content=content, corpora=corpora, purpose=purpose)
    failure = await _ask_in_time(step, question, attempts.parse, now)
    return StepOutcome(
        value=attempts.value,
        usage=add_usage(answer.usage for answer in attempts.answers),
        model=attempts.answers[-1].model if attempts.answers else None,
        failure=(failure or UNREADABLE) if attempts.value is None else None,
        damage=dict(+attempts.damage),
    )


async def _ask_in_time(
    step: StepModel, question: ModelQuestion, parse: Callable[[ChatAnswer], bool], now: datetime
) -> Message | None:
    """Ask within the seconds of the step. Return why the model did not answer, if it did not."""
    try:
        async with asyncio.timeout(step.seconds):
            error = await ask_and_repair(step.model, question, parse, now=now)
    except TimeoutError:
        if step.seconds is None:
            raise
        return Message("The model answered nothing within {seconds:g} s.", seconds=step.seconds)
    return error.full_message if error else None


@dataclass(slots=True, kw_only=True)
class _Attempts(Generic[T]):
    """The answers of a model to one question, and the last value that could be read from one."""

    read: Read[T]
    satisfied: Callable[[T], bool]
    answers: list[ChatAnswer] = field(default_factory=list)
    value: T | None = None
    damage: Counter[str] = field(default_factory=Counter)

    def parse(self, answer: ChatAnswer) -> bool:
        """Read an answer; return whether it is usable and satisfies."""
        self.answers.append(answer)
        value = self.read(answer.content[:_LONGEST_READ].rpartition("</think>")[2], self.damage)
        if not answer.finished:
            self.damage["unfinished"] += 1
            value = value or None  # cut off before it began: not the same as nothing to say
        if value is None:
            self.damage["unreadable"] += 1
        else:
            self.value = value
        if faults := dict(+self.damage):
            logger.warning("%s answered with damage: %s", answer.model, faults)
        return value is not None and self.satisfied(value)

"""One question to the model: shared by equal requests, asked again if the answer is unusable.

The JSON objects in its answer are found, and what models write instead of JSON is mended.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
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
from engine.values import Corpus

logger = logging.getLogger("presagio.llm")

T = TypeVar("T")
_MAX_STARTS = 64  # attempts to parse an object
_LONGEST_NUMBER = 30  # digits; what is above stays far above
_MAX_DEPTH = 3  # of objects around the answer: {"name": ..., "arguments": {...}}
# Models write line ends into strings, and numbers without end.
_DECODER = json.JSONDecoder(strict=False, parse_int=lambda digits: int(digits[:_LONGEST_NUMBER]))
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|//|/\*', re.DOTALL)
# A string in double quotes, in which nothing is mended, or one in single quotes.
_QUOTED = re.compile(
    r'"(?:[^"\\]|\\.)*+"?|(?<=[\[{,:\s])\'([^\'\n]{0,300})\'(?=\s*[,:}\]])', re.DOTALL
)
_OUTSIDE = re.compile(
    r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[\]}])|(?<=[:,\[\s])(None|True|False)\b', re.DOTALL
)
_OF_PYTHON = {"None": "null", "True": "true", "False": "false"}


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


def find_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the outermost JSON objects in a text, and those that they wrap, also as a string.

    If one is cut off, those within it are yielded; if one is not JSON as it stands, but is without
    comments, single quotes, trailing commas and Python's constants, it is read so.
    """
    text = _unquote(text)
    start = text.find("{")
    if start >= 0 and _read_at(text, start) is None:
        mended = _mend_json(text)
        start = mended.find("{")
        text = mended if start >= 0 and _read_at(mended, start) else text
    for _ in range(_MAX_STARTS):
        start = text.find("{", start)
        if start < 0:
            return
        read = _read_at(text, start)
        if read:
            yield from _unwrap(read[0])
        start = read[1] if read else start + 1


def _read_at(text: str, start: int) -> tuple[dict[str, object], int] | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value, end


def _unwrap(value: dict[str, object], depth: int = 0) -> Iterator[dict[str, object]]:
    yield value
    for inner in value.values() if depth < _MAX_DEPTH else ():
        wrapped: object = inner
        if isinstance(inner, str):  # which begins with an object
            read = _read_at(inner, inner.index("{")) if inner.lstrip().startswith("{") else None
            wrapped = read and read[0]
        if isinstance(wrapped, dict):
            yield from _unwrap(wrapped, depth + 1)


def _unquote(text: str) -> str:
    """Return the JSON in a JSON string."""
    text = text.strip().lstrip("\ufeff").strip()
    if not text.startswith('"'):
        return text
    try:
        inner = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, str) else text


def _mend_json(text: str) -> str:
    """Return JSON without comments, single quotes, trailing commas and Python's constants."""
    text = _QUOTED.sub(lambda entry: entry[0] if entry[1] is None else json.dumps(entry[1]), text)
    text = _drop_comments(text)
    return _OUTSIDE.sub(lambda part: part[1] or _OF_PYTHON.get(part[2], ""), text)


def _drop_comments(text: str) -> str:
    """Return JSON without comments; what looks like one inside a string is none."""
    pieces, position = [], 0
    for match in _TOKEN.finditer(text):
        if match.start() < position or match[0].startswith('"'):
            continue
        mark = "\n" if match[0] == "//" else "*/"
        end = text.find(mark, match.end())
        if end < 0:
            break
        pieces.append(text[position : match.start()])
        position = end + (len(mark) if mark == "*/" else 0)
    return "".join((*pieces, text[position:]))

"""A worker's turns: tasks in, notes and one result out, whatever happens in between."""

import asyncio
import io
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import IntFlag, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FeedUnreadable, PresagioError, RecordError, StorageError, UsageError
from engine.feeds.feed import FeedEntry, ParsedFeed
from engine.messages import Message
from engine.process_pool import Limits, Worker, WorkerQueue
from engine.process_worker import (
    ERROR,
    FAULT,
    HEADER,
    NOTE,
    OUT_OF_MEMORY,
    READY,
    REPLY,
    RESULT,
    TASK,
    Owner,
    Task,
    pack,
    pack_frame,
    unpack,
    work,
)
from tests.patience import PATIENCE

Frame = tuple[bytes, bytes]


def shout(text: str) -> str:
    """Return what is asked, louder, or do harm."""
    match text:
        case "refuse":
            raise FeedUnreadable(Message("No {what}.", what="feed"), fix=Message("Mend it."))
        case "grow":
            raise MemoryError
        case "fail":
            raise ZeroDivisionError("what somebody wrote")
    return text.upper()


class Session:
    """An object with its owner, of which a process makes one."""

    def __init__(self, owner: Owner) -> None:
        self._owner, self._times = owner, 0

    def ask(self) -> tuple[int, bytes]:
        self._times += 1
        self._owner.tell("a sign of life")
        return self._times, self._owner.ask("more")


def frames(output: bytes) -> list[Frame]:
    assert output.startswith(READY)
    stream, read = io.BytesIO(output[len(READY) :]), list[Frame]()
    while header := stream.read(HEADER.size):
        kind, length = HEADER.unpack(header)
        read.append((kind, stream.read(length)))
    return read


def results(tasks: bytes) -> list[Frame]:
    """Let a worker run tasks, and take its output apart."""
    output = io.BytesIO()
    work(Owner(io.BytesIO(tasks), output))
    return frames(output.getvalue())


def task(text: str) -> bytes:
    return pack_frame(TASK, pack(Task(f"{__name__}:shout", (text,))))


ASK = pack_frame(TASK, pack(Task(f"{__name__}:Session.ask")))


def test_a_worker_runs_tasks_in_turn_until_end_of_input() -> None:
    assert results(task("one") + task("two")) == [(RESULT, b'"ONE"'), (RESULT, b'"TWO"')]
    assert results(b"") == []


def test_notes_come_before_the_result_and_may_be_replied_to() -> None:
    notes = [(NOTE, b'"a sign of life"'), (NOTE, b'"more"')]
    replies = [pack_frame(REPLY, reply) for reply in (b"this", b"that")]
    assert results(ASK + replies[0] + ASK + replies[1] + task("on")) == [
        *notes,
        (RESULT, pack((1, b"this"))),
        *notes,
        (RESULT, pack((2, b"that"))),
        (RESULT, b'"ON"'),
    ]


def test_an_error_comes_out_as_it_went_in() -> None:
    [(kind, content)] = results(task("refuse"))
    error = unpack(PresagioError, content)
    assert (kind, type(error)) == (ERROR, FeedUnreadable)
    assert isinstance(error.message, Message)
    assert (error.message.template, error.message.values) == ("No {what}.", {"what": "feed"})
    assert error.fix == "Mend it."


@pytest.mark.parametrize(
    ("error", "crossed"),
    [
        (UsageError("a"), "UsageError"),
        (RecordError("a \udcff name"), "InputError"),  # the nearest base that crosses
        (StorageError("a", fix="b"), "PresagioError"),
    ],
)
def test_errors_keep_their_nearest_type_and_message(error: PresagioError, crossed: str) -> None:
    unpacked = unpack(PresagioError, pack(error))
    assert (type(unpacked).__name__, str(unpacked)) == (crossed, str(error))


def test_an_unexpected_error_is_reported_without_its_message() -> None:
    [(kind, content), after] = results(task("fail") + task("on"))
    assert kind == FAULT
    assert content.startswith(b"ZeroDivisionError in test_process_worker.py:")
    assert b"wrote" not in content
    assert after == (RESULT, b'"ON"')


def test_running_out_of_memory_is_reported() -> None:
    assert results(task("grow")) == [(OUT_OF_MEMORY, b"")]


@pytest.mark.parametrize("length", [1, 5, 8])
def test_a_truncated_task_ends_the_worker(length: int) -> None:
    assert results(task("one")[:length]) == []


def test_a_worker_whose_owner_was_killed_exits_silently() -> None:
    start = "from engine.process_worker import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, "[2147483648, 0, []]"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stdout.read(len(READY)) == READY
        process.stdout.close()
        process.stdin.write(pack_frame(TASK, pack(Task("builtins:abs", (-1,)))))
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0


class Colour(StrEnum):
    RED = "red"


class Mark(IntFlag):
    NONE = 0
    SEEN = 1
    KEPT = 2


@dataclass(frozen=True, slots=True)
class Inner:
    when: datetime | None
    content: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    text: str
    inner: tuple[Inner, ...]
    by_name: Mapping[str, Inner]
    pairs: tuple[tuple[str, int], ...]
    row: tuple[str, float, Colour]
    marks: Mark
    words: Sequence[str]
    known: frozenset[str]
    number: int
    other: Inner | None = None
    meta: Mapping[str, object]


MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5, minutes=-30))]))
TEXTS = st.text(alphabet=st.characters(exclude_categories=[]))  # lone surrogates too
INNER = st.builds(Inner, st.none() | MOMENTS, st.binary())
OUTER = st.builds(
    Outer,
    text=TEXTS,
    inner=st.lists(INNER).map(tuple),
    by_name=st.dictionaries(TEXTS, INNER),
    pairs=st.lists(st.tuples(TEXTS, st.integers())).map(tuple),
    row=st.tuples(TEXTS, st.floats(allow_nan=False, allow_infinity=False), st.just(Colour.RED)),
    marks=st.sampled_from([Mark.NONE, Mark.SEEN, Mark.SEEN | Mark.KEPT]),
    words=st.lists(TEXTS),
    known=st.frozensets(TEXTS),
    number=st.integers(-(2**70), 2**70),
    other=st.none() | INNER,
    meta=st.dictionaries(TEXTS, st.none() | st.booleans() | TEXTS),
)


@given(OUTER)
def test_a_value_comes_out_as_it_went_in(value: Outer) -> None:
    found = unpack(Outer, pack(value))
    assert found == value
    assert (type(found.marks), type(found.row[2])) == (Mark, Colour)


def test_return_types_of_workers_can_be_packed() -> None:
    entry = FeedEntry(identity="1", title="A", published=datetime(2020, 3, 3, tzinfo=UTC))
    feed = ParsedFeed(entries=(entry,), ttl=60.0)
    assert unpack(ParsedFeed, pack(feed)) == feed
    kind: Any = ParsedFeed | None
    assert unpack(kind, pack(None)) is None
    assert unpack(bytes, pack(b"\x00\xff")) == b"\x00\xff"
    assert unpack(list[float], pack([0.5])) == [0.5]


@pytest.mark.parametrize("kind", [complex, int | str, tuple[complex, ...], type])
def test_unsupported_types_raise_an_error(kind: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        unpack(kind, b"[1]")
    with pytest.raises(TypeError):
        pack(object())


async def test_the_urgent_goes_first_and_equals_in_the_order_they_came() -> None:
    queue, order = WorkerQueue([Worker(Limits())]), list[str]()

    async def work(name: str, urgency: int) -> None:
        worker = await queue.acquire(urgency)
        order.append(name)
        queue.release(worker)

    worker = await queue.acquire()
    waiting = [
        asyncio.create_task(work(name, urgency))
        for name, urgency in (("document", 1), ("next document", 1), ("question", 0))
    ]
    await asyncio.sleep(0)
    assert not queue.is_idle
    queue.release(worker)
    await asyncio.gather(*waiting)
    assert order == ["question", "document", "next document"]
    assert queue.is_idle


async def test_a_worker_lent_to_a_cancelled_task_goes_to_the_next() -> None:
    worker = Worker(Limits())
    queue = WorkerQueue([worker])
    await queue.acquire()
    cancelled, patient = [asyncio.create_task(queue.acquire()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.release(worker)
    cancelled.cancel()
    assert await patient is worker
    assert cancelled.cancelled()
    queue.release(worker)
    assert queue.is_idle

"""A worker's turns: tasks in, notes and one result out, whatever happens in between."""

import io
import subprocess
import sys

import pytest

from engine.errors import FeedUnreadable, PresagioError, RecordError, StorageError, UsageError
from engine.messages import Message
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
def test_errors_keep_their_closest_known_type_and_message(
    error: PresagioError, crossed: str
) -> None:
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

"""A worker's turns: orders in, notes and one answer out, whatever happens in between."""

import io
import subprocess
import sys

import pytest

from engine.errors import FeedUnreadable, PresagioError, RecordError, StorageError, UsageError
from engine.isolation.worker import (
    ANSWER,
    FAULT,
    GREEDY,
    HEADER,
    NOTE,
    ORDER,
    READY,
    REFUSAL,
    REPLY,
    Owner,
    pack_frame,
    pack_order,
    pack_refusal,
    unpack_refusal,
    work,
)
from engine.messages import Message
from tests.patience import PATIENCE

Frame = tuple[bytes, bytes]


def frames(output: bytes) -> list[Frame]:
    assert output.startswith(READY)
    stream, found = io.BytesIO(output[len(READY) :]), list[Frame]()
    while header := stream.read(HEADER.size):
        kind, length = HEADER.unpack(header)
        found.append((kind, stream.read(length)))
    return found


def answers(orders: bytes) -> list[Frame]:
    """Let a worker answer, and take its output apart."""
    output = io.BytesIO()
    owner = Owner(io.BytesIO(orders), output)

    def answer(order: bytes) -> bytes:
        match order:
            case b"refuse":
                raise FeedUnreadable(Message("No {what}.", what="feed"), fix=Message("Mend it."))
            case b"grow":
                raise MemoryError
            case b"fail":
                raise ZeroDivisionError("what somebody wrote")
            case b"ask":
                owner.tell(b"a sign of life")
                return b"heard " + owner.ask(b"more")
        return order.upper()

    work(owner, answer)
    return frames(output.getvalue())


def order(content: bytes) -> bytes:
    return pack_frame(ORDER, content)


def test_a_worker_answers_orders_in_turn_until_end_of_input() -> None:
    assert answers(order(b"one") + order(b"two")) == [(ANSWER, b"ONE"), (ANSWER, b"TWO")]
    assert answers(b"") == []


def test_notes_come_before_the_answer_and_may_be_replied_to() -> None:
    assert answers(order(b"ask") + pack_frame(REPLY, b"this") + order(b"on")) == [
        (NOTE, b"a sign of life"),
        (NOTE, b"more"),
        (ANSWER, b"heard this"),
        (ANSWER, b"ON"),
    ]


def test_an_error_comes_out_as_it_went_in() -> None:
    [(kind, content)] = answers(order(b"refuse"))
    error = unpack_refusal(content)
    assert (kind, type(error)) == (REFUSAL, FeedUnreadable)
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
    found = unpack_refusal(pack_refusal(error))
    assert (type(found).__name__, str(found)) == (crossed, str(error))


def test_an_unexpected_error_is_reported_without_its_message() -> None:
    [(kind, content), after] = answers(order(b"fail") + order(b"on"))
    assert kind == FAULT
    assert content.startswith(b"ZeroDivisionError in test_worker.py:")
    assert b"wrote" not in content
    assert after == (ANSWER, b"ON")


def test_running_out_of_memory_is_reported() -> None:
    assert answers(order(b"grow")) == [(GREEDY, b"")]


@pytest.mark.parametrize("kept", [1, 5, 8])
def test_a_truncated_order_ends_the_worker(kept: int) -> None:
    assert answers(order(b"an order")[:kept]) == []


def test_a_worker_whose_owner_was_killed_exits_silently() -> None:
    start = "from engine.isolation.worker import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, "[2147483648, 0, []]"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stdout.read(len(READY)) == READY
        process.stdout.close()
        process.stdin.write(order(pack_order("builtins:abs", [-1], {})))
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0

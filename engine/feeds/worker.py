"""The process in which feeds are read, and what it and its owner say to each other.

Orders come on the input and answers go to the output, in turns: four bytes of length, then JSON;
the body of an order follows in the same way. The process ends with its input, and an order that
takes too much time ends the process.
"""

import os
import signal
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

import orjson

from engine.errors import FeedUnreadable
from engine.feeds.read import read_feed
from engine.feeds.types import FeedEntry, ParsedFeed
from engine.messages import Message, message_from_json, message_json

if sys.platform != "win32":
    import resource

READY = b"!"  # the first byte of the output: everything is imported
LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be read, and in how many seconds of processor time."""

    body: bytes = field(repr=False)
    content_type: str | None
    url: str
    seconds: float


def pack_order(order: Order) -> bytes:
    """Return the bytes that the worker understands."""
    head = orjson.dumps([order.content_type, order.url, order.seconds])
    return b"".join((LENGTH.pack(len(head)), head, LENGTH.pack(len(order.body)), order.body))


def unpack_answer(answer: bytes) -> ParsedFeed:
    """Return what the worker answered. Raises the FeedUnreadable that it met."""
    said = orjson.loads(answer)
    if "unreadable" in said:
        raise FeedUnreadable(
            message_from_json(said["unreadable"]),
            fix=said["fix"] and message_from_json(said["fix"]),
        )
    entries = tuple(_unpack_entry(entry) for entry in said.pop("entries"))
    return ParsedFeed(entries=entries, **said)


def _unpack_entry(said: dict[str, Any]) -> FeedEntry:
    date, tags = said.pop("published"), tuple(said.pop("tags"))
    return FeedEntry(published=date and datetime.fromisoformat(date), tags=tags, **said)


def work(orders: BinaryIO, answers: BinaryIO) -> None:
    """Answer the orders until there are no more."""
    answers.write(READY)
    answers.flush()
    for order in _orders(orders):
        _allow(order.seconds)
        answer = _answer(order)
        _allow(0)
        answers.write(LENGTH.pack(len(answer)) + answer)
        answers.flush()


def _orders(source: BinaryIO) -> Iterator[Order]:
    while (head := _framed(source)) is not None and (body := _framed(source)) is not None:
        content_type, url, seconds = orjson.loads(head)
        yield Order(body=body, content_type=content_type, url=url, seconds=seconds)


def _framed(source: BinaryIO) -> bytes | None:
    """Return what comes next, None when the input has ended or is cut off."""
    prefix = source.read(LENGTH.size)
    if len(prefix) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(prefix)
    content = source.read(length)
    return content if len(content) == length else None


def _answer(order: Order) -> bytes:
    try:
        return orjson.dumps(read_feed(order.body, order.content_type, order.url))
    except FeedUnreadable as exc:
        return _refusal(exc)
    except MemoryError:
        return _refusal(FeedUnreadable(Message("The feed takes too much memory to read.")))


def _refusal(error: FeedUnreadable) -> bytes:
    fix = error.fix and message_json(error.fix)
    return orjson.dumps({"unreadable": message_json(error.message), "fix": fix})


def _allow(seconds: float) -> None:
    """End this process after so much processor time, also when its owner is gone; 0: never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(size: int) -> None:
    """Let this process have at most `size` bytes of addresses."""
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def main() -> None:
    """Work for the process that owns input and output; the first argument limits the memory."""
    _limit_memory(int(sys.argv[1]))
    try:
        work(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:  # the owner was killed
        # Python flushes the output once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Frames between a worker and its owner: one letter, a length of four bytes, the content."""

import json
import struct
from typing import Any

import orjson

from engine.errors import FeedUnreadable, InputError, PresagioError, UnknownFormat, UsageError
from engine.messages import message_from_json, message_json

READY = b"!"  # the first byte of a worker's output: everything is imported
HEADER = struct.Struct(">cI")
_LENGTH = struct.Struct(">I")
LARGEST = 1 << 28  # bytes of content
# From the owner: an order, and the reply to a note.
ORDER, REPLY = b"o", b"r"
# From the worker: any number of notes, then one of the other kinds to end each order.
NOTE, ANSWER, REFUSAL, GREEDY, FAULT = b"n", b"a", b"e", b"m", b"f"
_CROSSING: tuple[type[PresagioError], ...] = (
    *(FeedUnreadable, InputError, UnknownFormat, UsageError),
    PresagioError,
)


def pack_frame(kind: bytes, content: bytes = b"") -> bytes:
    """Return one frame."""
    return HEADER.pack(kind, len(content)) + content


def pack_order(head: object, body: bytes) -> bytes:
    """Return the content of an order: `head` as JSON, then the body."""
    packed = orjson.dumps(head)
    return _LENGTH.pack(len(packed)) + packed + body


def unpack_order(order: bytes) -> tuple[Any, bytes]:
    """Return the head and the body of an order."""
    (length,) = _LENGTH.unpack_from(order)
    start = _LENGTH.size + length
    return orjson.loads(order[_LENGTH.size : start]), order[start:]


def pack_refusal(error: PresagioError) -> bytes:
    """Return an error as JSON: its class, or the nearest base that can be sent, and its message.

    orjson is not used, because a file name may hold bytes that are not text.
    """
    name = next(kind.__name__ for kind in type(error).__mro__ if kind in _CROSSING)
    fix = error.fix and message_json(error.fix)
    return json.dumps([name, message_json(error.message), fix]).encode()


def unpack_refusal(content: bytes) -> PresagioError:
    """Return the error that was packed."""
    name, message, fix = json.loads(content)
    kind = next(kind for kind in _CROSSING if kind.__name__ == name)
    return kind(message_from_json(message), fix=fix and message_from_json(fix))

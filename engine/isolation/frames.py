"""What a worker and its owner say to each other: a letter, four bytes of length, the content."""

import json
import struct

from engine.errors import FeedUnreadable, InputError, PresagioError, UnknownFormat, UsageError
from engine.messages import message_from_json, message_json

READY = b"!"  # the first byte of a worker's output: everything is imported
HEADER = struct.Struct(">cI")
LARGEST = 1 << 28  # bytes of content
# From the owner: an order, and the reply to a note.
ORDER, REPLY = b"o", b"r"
# From the worker: notes, as many as it likes, and one of the others for each order.
NOTE, ANSWER, REFUSAL, GREEDY, FAULT = b"n", b"a", b"e", b"m", b"f"
_CROSSING: tuple[type[PresagioError], ...] = (
    *(FeedUnreadable, InputError, UnknownFormat, UsageError),
    PresagioError,
)


def pack_frame(kind: bytes, content: bytes = b"") -> bytes:
    """Return one frame."""
    return HEADER.pack(kind, len(content)) + content


def pack_refusal(error: PresagioError) -> bytes:
    """Return an error as JSON: its name, or that of the nearest base that crosses, and its words.

    Not orjson: the name of a file may hold bytes that are no text.
    """
    name = next(kind.__name__ for kind in type(error).__mro__ if kind in _CROSSING)
    fix = error.fix and message_json(error.fix)
    return json.dumps([name, message_json(error.message), fix]).encode()


def unpack_refusal(content: bytes) -> PresagioError:
    """Return the error that was packed."""
    name, message, fix = json.loads(content)
    kind = next(kind for kind in _CROSSING if kind.__name__ == name)
    return kind(message_from_json(message), fix=fix and message_from_json(fix))

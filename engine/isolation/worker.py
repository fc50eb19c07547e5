"""The worker's side, and what passes between it and its owner: frames, and the values in them.

It takes orders on standard input, and sends notes and answers to its output. An order names a
function of a module, or a method of a class, of which the process makes one object with its owner,
and gives the processor time and the arguments.

The process ends with its input. It also limits itself where the system allows, so that it ends even
if its owner is gone: its address space on Linux, its processor time on every system but Windows.
Elsewhere the owner's clock is the only limit.
"""

import inspect
import json
import os
import signal
import struct
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import PurePath
from traceback import extract_tb
from types import NoneType, UnionType
from typing import (
    Any,
    BinaryIO,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson

from engine.errors import (
    FeedUnreadable,
    InputError,
    ModelError,
    PresagioError,
    SettingsError,
    UnknownFormat,
    UsageError,
)
from engine.messages import message_from_json, message_json

READY = b"!"  # the first byte of a worker's output: everything is imported
# A frame is one letter, a length of four bytes, and the content. Values cross as JSON, and come out
# by the types that they are declared to have: pickle would let a parser that was taken over run
# code in its owner.
HEADER = struct.Struct(">cI")
LARGEST = 1 << 28  # bytes of content
# From the owner: an order, and the reply to a note.
ORDER, REPLY = b"o", b"r"
# From the worker: any number of notes, then one of the other kinds to end each order.
NOTE, ANSWER, REFUSAL, GREEDY, FAULT = b"n", b"a", b"e", b"m", b"f"
_CROSSING: tuple[type[PresagioError], ...] = (
    *(FeedUnreadable, InputError, UnknownFormat, UsageError, SettingsError, ModelError),
    PresagioError,
)
_AS_THEY_ARE = (Any, object, str, int, float, bool, NoneType)
_Value = TypeVar("_Value")
_Converter: TypeAlias = Callable[[Any], Any]
Answer: TypeAlias = Callable[[bytes], bytes]


def pack_frame(kind: bytes, content: bytes = b"") -> bytes:
    """Return one frame."""
    return HEADER.pack(kind, len(content)) + content


def pack(value: object) -> bytes:
    """Return a value as JSON: data classes, enumerations, times, bytes, and what JSON knows."""
    try:
        return orjson.dumps(value, default=_as_json)
    except TypeError:  # a text that is none, such as the name of a file; an integer beyond 64 bits
        return json.dumps(value, default=_as_json).encode()


def pack_order(
    name: str, args: Sequence[object], kwargs: Mapping[str, object], *, seconds: float = 0.0
) -> bytes:
    """Return the content of an order: what to call, with what, for how much processor time."""
    return pack([name, seconds, args, kwargs])


def unpack(kind: type[_Value], content: bytes) -> _Value:
    """Return the value that was packed, which is declared to be of that type."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        value = json.loads(content)
    return convert(kind, value)


def convert(kind: type[_Value], value: object) -> _Value:
    """Return a value of JSON as one of the type that it was packed from."""
    converter = _build_converter(cast(Hashable, kind))
    return cast(_Value, converter(value) if converter else value)


def _as_json(value: object) -> object:
    """Return a value that JSON does not know as one that it does."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return list(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} does not cross")


@cache
def _build_converter(kind: Any) -> _Converter | None:
    """Return what makes a value of that type from JSON, or None if JSON has it as it is.

    Raises TypeError for a type that does not cross.
    """
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if kind in _AS_THEY_ARE:
        return None
    if origin in (Union, UnionType):
        (other,) = (inner_kind for inner_kind in inner if inner_kind is not NoneType)
        return _convert_optional(_build_converter(other))
    if not inner:
        return _convert_single(origin)
    if origin is tuple and inner[1:] != (...,):
        return _convert_row([_build_converter(inner_kind) for inner_kind in inner])
    if issubclass(origin, Mapping):
        return _convert_values(_build_converter(inner[1]))
    if issubclass(origin, Collection):
        return _convert_several(origin, _build_converter(inner[0]))
    raise TypeError(f"{kind} does not cross")


def _convert_single(kind: type[Any]) -> _Converter:
    if kind is bytes:
        return b64decode
    if kind is datetime:
        return datetime.fromisoformat
    if issubclass(kind, Enum):
        return kind
    if is_dataclass(kind):
        return _convert_record(kind)
    raise TypeError(f"{kind} does not cross")


def _convert_optional(convert_it: _Converter | None) -> _Converter | None:
    return convert_it and (lambda value: None if value is None else convert_it(value))


def _convert_row(converters: Sequence[_Converter | None]) -> _Converter:
    return lambda values: tuple(
        converter(value) if converter else value
        for converter, value in zip(converters, values, strict=True)
    )


def _convert_values(convert_it: _Converter | None) -> _Converter | None:
    return convert_it and (
        lambda values: {name: convert_it(value) for name, value in values.items()}
    )


def _convert_several(
    kind: type[Collection[Any]], convert_it: _Converter | None
) -> _Converter | None:
    made: _Converter | None = kind if kind in (tuple, frozenset) else None
    if convert_it is None:
        return made
    collect = made or list
    return lambda values: collect(map(convert_it, values))


def _convert_record(kind: type[Any]) -> _Converter:
    """Return what makes a data class from its fields by name; most of them are as they are."""
    types = get_type_hints(kind)
    known = {field.name: _build_converter(types[field.name]) for field in fields(kind)}
    converters = [(name, converter) for name, converter in known.items() if converter]

    def made(values: dict[str, Any]) -> Any:
        for name, converter in converters:
            values[name] = converter(values[name])
        return kind(**values)

    return made


def pack_refusal(error: PresagioError) -> bytes:
    """Return an error as JSON: its class, or the nearest base that can be sent, and its message."""
    name = next(kind.__name__ for kind in type(error).__mro__ if kind in _CROSSING)
    fix = error.fix and message_json(error.fix)
    return pack([name, message_json(error.message), fix])


def unpack_refusal(content: bytes) -> PresagioError:
    """Return the error that was packed."""
    name, message, fix = unpack(list[Any], content)
    kind = next(kind for kind in _CROSSING if kind.__name__ == name)
    return kind(message_from_json(message), fix=fix and message_from_json(fix))


if sys.platform != "win32":
    import resource


class Owner:
    """The owner as the worker sees it: gets notes, and replies, while an order is handled."""

    def __init__(self, orders: BinaryIO, answers: BinaryIO) -> None:
        self._orders, self._answers = orders, answers

    def tell(self, note: bytes) -> None:
        """Send the owner a note. Blocks while the owner is behind."""
        self.send(pack_frame(NOTE, note))

    def ask(self, note: bytes) -> bytes:
        """Send the owner a note and return the reply. Raises EOFError if there is none."""
        self.tell(note)
        reply = self.receive()
        if reply is None:
            raise EOFError("the owner is gone")
        return reply

    def send(self, frames: bytes) -> None:
        """Write packed frames."""
        self._answers.write(frames)
        self._answers.flush()

    def receive(self) -> bytes | None:
        """Return the next content, or None if the input has ended or is cut off."""
        header = self._orders.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        _, length = HEADER.unpack(header)
        content = self._orders.read(length)
        return content if len(content) == length else None


def work(owner: Owner, answer: Answer) -> None:
    """Answer orders until there are no more. `answer` may raise PresagioError."""
    owner.send(READY)
    for order in _receive_orders(owner):
        owner.send(_answer_order(order, answer))


def _receive_orders(owner: Owner) -> Iterator[bytes]:
    while (order := owner.receive()) is not None:
        yield order


def _answer_order(order: bytes, answer: Answer) -> bytes:
    try:
        return pack_frame(ANSWER, answer(order))
    except PresagioError as exc:
        return pack_frame(REFUSAL, pack_refusal(exc))
    except MemoryError:
        return pack_frame(GREEDY)
    except (BrokenPipeError, EOFError):  # the owner is gone
        raise
    except Exception as exc:
        # The message may quote what people wrote.
        last = extract_tb(exc.__traceback__)[-1]
        fault = f"{type(exc).__name__} in {PurePath(last.filename).name}:{last.lineno}"
        return pack_frame(FAULT, fault.encode("utf-8", "replace"))


def allow(seconds: float) -> None:
    """End this process after `seconds` more of processor time; 0 means never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def seconds_left() -> float:
    """Return the processor time left, in seconds; 0 if there is no limit."""
    return 0.0 if sys.platform == "win32" else signal.getitimer(signal.ITIMER_PROF)[0]


def seconds_used() -> float:
    """Return the processor time that this process has taken, in seconds."""
    times = os.times()
    return times.user + times.system


def limit_process(memory: int, niceness: int) -> None:
    """Limit this process to an address space of `memory` bytes, and let others go first.

    Only Linux enforces the first. What it reads never goes into a core file.
    """
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(niceness)
    if sys.platform == "linux" and memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


class Calls:
    """Calls what orders name."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._objects: dict[type, object] = {}

    def answer(self, order: bytes) -> bytes:
        """Return what the call of an order returns. Raises whatever it raises."""
        name, seconds, args, kwargs = unpack(list[Any], order)
        call = self._find_function(name)
        types = _list_parameter_types(getattr(call, "__func__", call))
        given = [convert(kind, value) for kind, value in zip(types.values(), args, strict=False)]
        named = {key: convert(types[key], value) for key, value in kwargs.items()}
        if not seconds:
            return pack(call(*given, **named))
        allow(seconds)
        try:
            return pack(call(*given, **named))
        finally:
            allow(0)

    def _find_function(self, name: str) -> Callable[..., object]:
        module, _, path = name.partition(":")
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
            if isinstance(found, type):
                found = self._objects.get(found) or self._objects.setdefault(
                    found, found(self._owner)
                )
        called: Callable[..., object] = found
        return called


@cache
def _list_parameter_types(function: Callable[..., object]) -> Mapping[str, Any]:
    """Return the types of a function's parameters, in order."""
    types = get_type_hints(function)
    return {name: types[name] for name in inspect.signature(function).parameters if name in types}


def main() -> None:
    """Work for the process at the other end of the pipes, as the first argument says."""
    memory, niceness, modules = unpack(list[Any], sys.argv[1].encode())
    limit_process(memory, niceness)
    for module in modules:
        with suppress(ImportError):  # the order that needs it will say so
            import_module(module)
    owner = Owner(sys.stdin.buffer, sys.stdout.buffer)
    try:
        work(owner, Calls(owner).answer)
    except (BrokenPipeError, EOFError):  # the owner was killed
        # Python flushes the output once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""The worker process of a pool: runs tasks within limits, and sends notes while it works.

Tasks come on standard input; notes and results go to standard output. A task names a function of a
module, or a method of a class, of which the process makes one object with its owner. What crosses
is JSON, and comes out by the types that it is declared to have: pickle would let a parser that was
taken over run code in its owner.

The process ends with its input. It also limits itself where the system allows, so that it ends even
if its owner is gone: its address space on Linux, its CPU time on every system but Windows.
Elsewhere the owner's clock is the only limit.
"""

import inspect
import json
import os
import signal
import struct
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
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
# A frame is one letter, a length of four bytes, and the content.
HEADER = struct.Struct(">cI")
LARGEST = 1 << 28  # bytes of content
# From the owner: a task, and the reply to a note.
TASK, REPLY = b"t", b"r"
# From the worker: any number of notes, then one of the other kinds to end each task.
NOTE, RESULT, ERROR, OUT_OF_MEMORY, FAULT = b"n", b"a", b"e", b"m", b"f"
_CROSSING: tuple[type[PresagioError], ...] = (
    *(FeedUnreadable, InputError, UnknownFormat, UsageError, SettingsError, ModelError),
    PresagioError,
)
_AS_THEY_ARE = (Any, object, str, int, float, bool, NoneType)
_Value = TypeVar("_Value")
_Converter: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to call, with what, for how many seconds of CPU time; 0 = any."""

    function: str  # "module:function", or "module:Class.method"
    args: Sequence[object] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0


def pack_frame(kind: bytes, content: bytes = b"") -> bytes:
    """Return one frame."""
    return HEADER.pack(kind, len(content)) + content


def pack(value: object) -> bytes:
    """Return a value as JSON: data classes, enumerations, times, bytes, and what JSON knows."""
    try:
        return orjson.dumps(value, default=_as_json)
    except TypeError:  # a text that is none, such as the name of a file; an integer beyond 64 bits
        return json.dumps(value, default=_as_json).encode()


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
    if isinstance(value, PresagioError):
        # Its class, or the nearest base that can be sent, and its message.
        name = next(kind.__name__ for kind in type(value).__mro__ if kind in _CROSSING)
        return [name, message_json(value.message), value.fix and message_json(value.fix)]
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
        unwrap = _build_converter(other)
        return unwrap and (lambda value: None if value is None else unwrap(value))
    if not inner:
        return _convert_single(origin)
    if origin is tuple and inner[1:] != (...,):
        row = [_build_converter(inner_kind) for inner_kind in inner]
        return lambda values: tuple(
            part(value) if part else value for part, value in zip(row, values, strict=True)
        )
    if issubclass(origin, Mapping):
        each = _build_converter(inner[1])
        return each and (lambda values: {name: each(value) for name, value in values.items()})
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
    if issubclass(kind, PresagioError):
        return _build_error
    if is_dataclass(kind):
        return _convert_record(kind)
    raise TypeError(f"{kind} does not cross")


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
    by_name = {field.name: _build_converter(types[field.name]) for field in fields(kind)}
    converters = [(name, converter) for name, converter in by_name.items() if converter]

    def made(values: dict[str, Any]) -> Any:
        for name, converter in converters:
            values[name] = converter(values[name])
        return kind(**values)

    return made


def _build_error(parts: Sequence[Any]) -> PresagioError:
    name, message, fix = parts
    kind = next(kind for kind in _CROSSING if kind.__name__ == name)
    return kind(message_from_json(message), fix=fix and message_from_json(fix))


if sys.platform != "win32":
    import resource


class Owner:
    """The owner as the worker sees it: gets notes, and replies, while a task runs."""

    def __init__(self, tasks: BinaryIO, results: BinaryIO) -> None:
        self._tasks, self._results = tasks, results

    def tell(self, note: object) -> None:
        """Send the owner a note. Blocks while the owner is behind."""
        self.send(pack_frame(NOTE, pack(note)))

    def ask(self, note: object) -> bytes:
        """Send the owner a note and return the reply. Raises EOFError if there is none."""
        self.tell(note)
        reply = self.receive()
        if reply is None:
            raise EOFError("the owner is gone")
        return reply

    def send(self, frame: bytes) -> None:
        """Write a packed frame."""
        self._results.write(frame)
        self._results.flush()

    def receive(self) -> bytes | None:
        """Return the next content, or None if the input has ended or is cut off."""
        header = self._tasks.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        _, length = HEADER.unpack(header)
        content = self._tasks.read(length)
        return content if len(content) == length else None


def work(owner: Owner) -> None:
    """Run tasks until there are no more."""
    owner.send(READY)
    objects: dict[type, object] = {}
    while (content := owner.receive()) is not None:
        owner.send(_run_task(content, owner, objects))


def _run_task(content: bytes, owner: Owner, objects: dict[type, object]) -> bytes:
    """Return the frame that ends a task."""
    try:
        task = unpack(Task, content)
        return pack_frame(RESULT, _call_function(task, owner, objects))
    except PresagioError as exc:
        return pack_frame(ERROR, pack(exc))
    except MemoryError:
        return pack_frame(OUT_OF_MEMORY)
    except (BrokenPipeError, EOFError):  # the owner is gone
        raise
    except Exception as exc:
        # The message may quote what people wrote.
        last = extract_tb(exc.__traceback__)[-1]
        fault = f"{type(exc).__name__} in {PurePath(last.filename).name}:{last.lineno}"
        return pack_frame(FAULT, fault.encode("utf-8", "replace"))


def _call_function(task: Task, owner: Owner, objects: dict[type, object]) -> bytes:
    """Return what the function returns, packed. Raises whatever it raises."""
    function = _find_function(task.function, owner, objects)
    types = _list_parameter_types(getattr(function, "__func__", function))
    args = [convert(kind, value) for kind, value in zip(types.values(), task.args, strict=False)]
    kwargs = {name: convert(types[name], value) for name, value in task.kwargs.items()}
    if not task.seconds:  # it may limit itself, beyond its end
        return pack(function(*args, **kwargs))
    limit_cpu(task.seconds)
    try:
        return pack(function(*args, **kwargs))
    finally:
        limit_cpu(0)


def _find_function(name: str, owner: Owner, objects: dict[type, object]) -> Callable[..., object]:
    module, _, path = name.partition(":")
    attribute: Any = import_module(module)
    for part in path.split("."):
        attribute = getattr(attribute, part)
        if isinstance(attribute, type):
            if attribute not in objects:
                objects[attribute] = attribute(owner)
            attribute = objects[attribute]
    function: Callable[..., object] = attribute
    return function


@cache
def _list_parameter_types(function: Callable[..., object]) -> Mapping[str, Any]:
    """Return the types of a function's parameters, in order."""
    types = get_type_hints(function)
    return {name: types[name] for name in inspect.signature(function).parameters if name in types}


def limit_cpu(seconds: float) -> None:
    """End this process after `seconds` more of CPU time; 0 means never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def seconds_left() -> float:
    """Return the CPU time left, in seconds; 0 if there is no limit."""
    return 0.0 if sys.platform == "win32" else signal.getitimer(signal.ITIMER_PROF)[0]


def seconds_used() -> float:
    """Return the CPU time that this process has taken, in seconds."""
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


def main() -> None:
    """Work for the process at the other end of the pipes, as the first argument says."""
    memory, niceness, modules = unpack(list[Any], sys.argv[1].encode())
    limit_process(memory, niceness)
    for module in modules:
        with suppress(ImportError):  # the task that needs it will say so
            import_module(module)
    owner = Owner(sys.stdin.buffer, sys.stdout.buffer)
    try:
        work(owner)
    except (BrokenPipeError, EOFError):  # the owner was killed
        # Python flushes the output once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

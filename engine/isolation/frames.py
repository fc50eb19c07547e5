"""What passes between a worker and its owner: frames, and the values in them.

A frame is one letter, a length of four bytes, and the content. Values cross as JSON, and come out
by the types that they are declared to have. Pickle would let a parser that was taken over run code
in its owner.
"""

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

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
    converter = _converter(cast(Hashable, kind))
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
def _converter(kind: Any) -> _Converter | None:
    """Return what makes a value of that type from JSON, or None if JSON has it as it is.

    Raises TypeError for a type that does not cross.
    """
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if kind in _AS_THEY_ARE:
        return None
    if origin in (Union, UnionType):
        (other,) = (inner_kind for inner_kind in inner if inner_kind is not NoneType)
        return _optional(_converter(other))
    if not inner:
        return _single(origin)
    if origin is tuple and inner[1:] != (...,):
        return _convert_row([_converter(inner_kind) for inner_kind in inner])
    if issubclass(origin, Mapping):
        return _convert_values(_converter(inner[1]))
    if issubclass(origin, Collection):
        return _several(origin, _converter(inner[0]))
    raise TypeError(f"{kind} does not cross")


def _single(kind: type[Any]) -> _Converter:
    if kind is bytes:
        return b64decode
    if kind is datetime:
        return datetime.fromisoformat
    if issubclass(kind, Enum):
        return kind
    if is_dataclass(kind):
        return _convert_record(kind)
    raise TypeError(f"{kind} does not cross")


def _optional(convert_it: _Converter | None) -> _Converter | None:
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


def _several(kind: type[Collection[Any]], convert_it: _Converter | None) -> _Converter | None:
    made: _Converter | None = kind if kind in (tuple, frozenset) else None
    if convert_it is None:
        return made
    collect = made or list
    return lambda values: collect(map(convert_it, values))


def _convert_record(kind: type[Any]) -> _Converter:
    """Return what makes a data class from its fields by name; most of them are as they are."""
    types = get_type_hints(kind)
    known = {field.name: _converter(types[field.name]) for field in fields(kind)}
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

"""Parsing of untrusted YAML and TOML within limits of time and memory.

The parsers themselves do not limit aliases that multiply ("billion laughs"), nesting on which the
C parser of YAML overflows its stack, keys of a thousand parts on which TOML's takes gigabytes, and
numbers of more digits than Python converts to text.
"""

import tomllib
from collections.abc import Mapping

import yaml

from engine.errors import InputError
from engine.messages import Message

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_DEEPEST = 20  # levels
_LONGEST_KEY = 200  # parts, in one line of TOML
_LARGEST_NUMBER = 2**63
# Errors of the constructors if a tag does not fit its value: "!!bool x".
_MISTAGGED = (ValueError, OverflowError, LookupError, AttributeError, TypeError)


def read_yaml(text: str) -> object:
    """Return the value of a YAML document.

    Raises InputError, whose message is only the reason and starts in lower case.
    """
    try:
        _require_shallow(text)
        value = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are the safe one
    except (yaml.YAMLError, *_MISTAGGED, RecursionError) as exc:
        raise InputError(_first_line(exc)) from exc
    _require_sound(value)
    return value


def read_toml(text: str) -> Mapping[str, object]:
    """Return the tables of a TOML document. Raises InputError like `read_yaml`."""
    if any(line.count(".") > _LONGEST_KEY for line in text.split("\n")):
        raise InputError(Message("a line has more than {number} dots", number=_LONGEST_KEY))
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as exc:  # a TOMLDecodeError; too many digits
        raise InputError(_first_line(exc)) from exc
    _require_sound(tables)
    return tables


def _require_shallow(text: str) -> None:
    """Raise for documents that would be costly to build, judging by the parser's events alone."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise InputError(Message("line {line} has an alias: write its text out", line=line))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        _require_depth(depth)


def _require_sound(value: object, depth: int = 0) -> None:
    _require_depth(depth)
    if isinstance(value, int) and abs(value) >= _LARGEST_NUMBER:
        raise InputError(Message("a number is too large: put quotes around it"))
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _require_sound(name, depth + 1)
            _require_sound(inner, depth + 1)
    elif isinstance(value, list | tuple | set):
        for inner in value:
            _require_sound(inner, depth + 1)


def _require_depth(depth: int) -> None:
    if depth > _DEEPEST:
        raise InputError(Message("it is nested more than {number} levels deep", number=_DEEPEST))


def _first_line(exc: Exception) -> Message:
    mark = getattr(exc, "problem_mark", None)
    problem = str(exc).partition("\n")[0]
    if not mark:
        return Message("{problem}", problem=problem)
    return Message("{problem} in line {line}", problem=problem, line=mark.line + 1)

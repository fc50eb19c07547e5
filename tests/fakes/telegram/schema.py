"""Reads parameters as the Bot API documents them; `methods.json` holds names and types.

Bodies carry strings (urlencoded, multipart) or JSON values; either way a parameter ends as the
type that its method declares. Unknown, missing and mistyped parameters are reported, not dropped.
The table is written by `.ci/telegram-methods` from models of aiogram (MIT licence).
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("methods.json").read_text("utf-8"))
METHODS: frozenset[str] = frozenset(_TABLE["methods"])
_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
}


class Mistyped(ValueError):
    """A value that does not fit its declared type."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came inside a multipart body."""

    name: str
    content: bytes


def read(
    method: str, raw: Mapping[str, Any], files: Mapping[str, Upload]
) -> tuple[dict[str, Any], list[str]]:
    """Parameters by name, decoded, and what is wrong with them in sentences."""
    declared: Mapping[str, str] = _TABLE["methods"][method]
    kinds = {name.removesuffix("?"): kind for name, kind in declared.items()}
    given = _given(raw, files)
    lacking = [name for name in declared if not name.endswith("?") and name not in given]
    problems = [f"{method}: unknown parameter {n}" for n in sorted(given.keys() - kinds.keys())]
    problems += [f"{method}: missing parameter {name}" for name in lacking]
    parameters: dict[str, Any] = {}
    for name in kinds.keys() & given.keys():
        try:
            parameters[name] = _decode(given[name], _parsed(kinds[name]), name)
        except Mistyped as wrong:
            problems.append(f"{method}: {wrong}")
    return parameters, problems


def _given(raw: Mapping[str, Any], files: Mapping[str, Upload]) -> dict[str, Any]:
    """What was sent, files in the place of the parameters that are or name them."""
    attached = {f"attach://{name}": file for name, file in files.items()}
    loose = {name: files[name] for name in files if f"attach://{name}" not in raw.values()}
    return loose | {
        name: attached.get(value, value) if isinstance(value, str) else value
        for name, value in raw.items()
        if value is not None
    }


@cache
def _parsed(kind: str) -> ast.expr:
    return ast.parse(kind, mode="eval").body


def _decode(value: Any, kind: ast.expr, where: str) -> Any:
    """A top-level value: a string stands for itself or for the JSON it holds."""
    if isinstance(value, str) and not _fits(value, kind):
        try:
            value = json.loads(value)
        except ValueError:
            raise Mistyped(f"{where} is not {ast.unparse(kind)}: {value[:80]!r}") from None
    elif isinstance(value, str) and _allows(kind, "int") and value.lstrip("-").isdecimal():
        value = int(value)  # `int | str`: a number is meant as one
    _check(value, kind, where)
    return value


def _alternatives(kind: ast.expr) -> list[ast.expr]:
    if isinstance(kind, ast.BinOp):
        return [*_alternatives(kind.left), *_alternatives(kind.right)]
    return [kind]


def _allows(kind: ast.expr, name: str) -> bool:
    return any(
        isinstance(alternative, ast.Name) and alternative.id == name
        for alternative in _alternatives(kind)
    )


def _fits(value: Any, kind: ast.expr) -> bool:
    try:
        _check(value, kind, "")
    except Mistyped:
        return False
    return True


def _check(value: Any, kind: ast.expr, where: str) -> None:
    """Raise Mistyped unless the value fits one of the alternatives."""
    reasons: list[str] = []
    for alternative in _alternatives(kind):
        try:
            _check_one(value, alternative, where)
        except Mistyped as wrong:
            reasons.append(str(wrong))
        else:
            return
    # The alternative that came furthest says most: its complaint lies deepest inside the value.
    raise Mistyped(max(reasons, key=lambda reason: reason.partition(" ")[0].count(".")))


def _check_one(value: Any, kind: ast.expr, where: str) -> None:
    if isinstance(kind, ast.Subscript):
        assert isinstance(kind.value, ast.Name)
        if kind.value.id == "list":
            _check_list(value, kind.slice, where)
        elif value not in _literals(kind.slice):
            raise Mistyped(f"{where} is not {ast.unparse(kind)}: {value!r}")
        return
    assert isinstance(kind, ast.Name)
    if kind.id in _PLAIN:
        plain = _PLAIN[kind.id]
        if not isinstance(value, plain) or (isinstance(value, bool) and bool not in plain):
            raise Mistyped(f"{where} is not {kind.id}: {value!r:.80}")
    elif kind.id == "File":
        if not isinstance(value, Upload):
            raise Mistyped(f"{where} is not an uploaded file")
    elif kind.id != "any":
        _check_object(value, kind.id, where)


def _check_list(value: Any, inner: ast.expr, where: str) -> None:
    if not isinstance(value, list):
        raise Mistyped(f"{where} is not a list: {value!r:.80}")
    for position, one in enumerate(value):
        _check(one, inner, f"{where}.{position}")


def _literals(inner: ast.expr) -> list[Any]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    return [part.value for part in parts if isinstance(part, ast.Constant)]


def _check_object(value: Any, name: str, where: str) -> None:
    if not isinstance(value, dict):
        raise Mistyped(f"{where} is not {name}: {value!r:.80}")
    declared: Mapping[str, str] = _TABLE["objects"][name]
    kinds = {field.removesuffix("?"): kind for field, kind in declared.items()}
    for field in value.keys() - kinds.keys():
        raise Mistyped(f"{where}.{field} is unknown in {name}")
    for field, kind in kinds.items():
        if field in value:
            _check(value[field], _parsed(kind), f"{where}.{field}")
        elif field in declared:
            raise Mistyped(f"{where}.{field} is missing in {name}")

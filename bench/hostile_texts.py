"""The regular expressions of the project, and texts on which a bad one takes for ever.

`hostile_texts` makes them of the parts of a pattern: the way to one of its repeats, what the repeat
takes, many times, and an end that does not fit.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

Pattern = re.Pattern[Any]
_ENDS = ("", "\x01", "\n", " ", "a", "!", "\\")
_ANY = "aA1 .-_/:;,&#@<>[](){}\"'\t\n\x01é\\"
_MAX_TEXTS = 200
_SEARCHES = frozenset({"search", "sub", "findall", "finditer", "split", "match", "fullmatch"})


class Use(NamedTuple):
    """One way in which the code uses a pattern."""

    name: str
    pattern: Pattern
    way: str  # match, fullmatch, or sub for all that search

    def on(self, text: Any) -> None:
        """Use it."""
        if self.way == "sub":
            self.pattern.sub(text[:0], text)
        else:
            getattr(self.pattern, self.way)(text)


def modules(*packages: str) -> Iterator[ModuleType]:
    """Yield the packages with all their modules, but those that run when they are imported."""
    for package in packages:
        root = importlib.import_module(package)
        yield root
        for found in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def patterns(found: Iterable[ModuleType]) -> dict[str, Pattern]:
    """Return the compiled patterns that modules and their classes hold, by their full names."""
    held: dict[str, Pattern] = {}
    for module in found:
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                for inner, of_class in vars(value).items():
                    _collect(held, f"{module.__name__}.{name}.{inner}", of_class)
            else:
                _collect(held, f"{module.__name__}.{name}", value)
        held |= _inline_patterns(module)
    once: dict[int, str] = {}
    for name, pattern in held.items():  # what another module imported is the same object
        once.setdefault(id(pattern), name)
    return {name: held[name] for name in once.values()}


def _collect(held: dict[str, Pattern], name: str, value: object) -> None:
    if isinstance(value, re.Pattern):
        held[name] = value
    elif isinstance(value, dict):
        for key, inner in value.items():
            _collect(held, f"{name}[{key!r}]", inner)
            _collect(held, f"{name}[{key!r}] key", key)
    elif isinstance(value, list | tuple | set | frozenset):
        for place, inner in enumerate(value):
            _collect(held, f"{name}[{place}]", inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            _collect(held, f"{name}.{part.name}", getattr(value, part.name, None))


def _inline_patterns(module: ModuleType) -> dict[str, Pattern]:
    """Return the patterns that stand where they are used: `re.search(r"...", text)`."""
    found: dict[str, Pattern] = {}
    for node in ast.walk(ast.parse(_source(module))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        given = node.args[0] if node.args else None
        if (
            of_re
            and node.func.attr in _SEARCHES
            and isinstance(given, ast.Constant)
            and given.value
        ):
            name = f"{module.__name__}:{node.lineno} re.{node.func.attr}"
            found[name] = re.compile(given.value)
    return found


def ways(name: str, found: Iterable[ModuleType]) -> set[str]:
    """Return how the code uses a pattern: "match", "fullmatch", or "sub" for all that search."""
    if " re." in name:
        call = name.rpartition(".")[2]
        return {call if call in {"match", "fullmatch"} else "sub"}
    short = re.escape(re.split(r"[.\[ ]", name.partition("[")[0])[-1])
    use = re.compile(rf"\b{short}\.(\w+)")
    calls = {call for module in found for call in use.findall(_source(module))}
    return {call if call in {"match", "fullmatch"} else "sub" for call in calls} or {"sub"}


@cache
def _source(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except OSError:  # an empty file
        return ""


@dataclass(frozen=True, slots=True)
class HostileText:
    """A text of any size: a beginning, a piece again and again, and an end."""

    start: str
    piece: str
    end: str
    as_bytes: bool

    def of_size(self, size: int) -> Any:
        """Return the text in about that many characters."""
        text = self.start + self.piece * (size // len(self.piece)) + self.end
        return text.encode("latin-1", "ignore") if self.as_bytes else text

    def __str__(self) -> str:
        return f"{self.start!r} {self.piece!r}... {self.end!r}"


def hostile_texts(pattern: Pattern) -> list[HostileText]:
    """Return texts on which this pattern would backtrack if it can."""
    source = pattern.pattern
    tree = _parser.parse(source, pattern.flags & ~re.DEBUG)
    made: dict[HostileText, None] = {}
    pumps = list(_pumps(tree, ""))
    signs = dict.fromkeys(sign for _, pump in pumps for sign in pump)
    marks = [sign for sign in dict.fromkeys(_literals(tree)) if not sign.isalnum()][:4]
    pairs = [first + second for first in marks for second in marks if first != second]
    pumps += [("", sign) for sign in (*signs, *pairs, *_ANY)]
    for before, pump in pumps:
        if pump:
            as_bytes = isinstance(source, bytes)
            for end in _ENDS:
                made[HostileText(before, pump, end, as_bytes)] = None
            made[HostileText("", before + pump * 3, "", as_bytes)] = None
            made[HostileText(f"a{before}", pump, "a", as_bytes)] = None
    texts = list(made)
    if len(texts) > _MAX_TEXTS:
        step = len(texts) / _MAX_TEXTS
        texts = [texts[int(place * step)] for place in range(_MAX_TEXTS)]
    return texts


def _pumps(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield for each repeat a text that leads to it, and ones that it takes."""
    for op, value in tree:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, high, body = value
            if high > 50:
                for sign in _choices(body):
                    yield before, sign
            yield from _pumps(body, before)
        elif op is sre.SUBPATTERN:
            yield from _pumps(value[3], before)
        elif op is sre.ATOMIC_GROUP:
            yield from _pumps(value, before)
        elif op is sre.BRANCH:
            for branch in value[1]:
                yield from _pumps(branch, before)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _pumps(value[1], before)
        before += _sample([(op, value)])


def _literals(tree: Any) -> Iterator[str]:
    """Yield the characters that a tree names."""
    for op, value in tree:
        if op in (sre.LITERAL, sre.NOT_LITERAL):
            yield chr(value)
        elif op is sre.IN:
            yield from _literals(part for part in value if part[0] in (sre.LITERAL,))
        elif isinstance(value, tuple | list) and op is not sre.CATEGORY:
            inner = value[1] if op is sre.BRANCH else [value[-1]]
            for part in inner:
                if isinstance(part, _parser.SubPattern):
                    yield from _literals(part)


def _choices(body: Any) -> list[str]:
    """Return a few texts that a body takes."""
    found = [_sample(body)]
    if len(body) == 1 and body[0][0] is sre.IN:
        found += _members(body[0][1])
    if len(body) == 1 and body[0][0] is sre.NOT_LITERAL:
        found += [sign for sign in " a-" if ord(sign) != body[0][1]]
    for op, value in body:
        if op is sre.SUBPATTERN:
            found += _choices(value[3])
        if op is sre.BRANCH:
            found += [_sample(branch) for branch in value[1]]
    return list(dict.fromkeys(found))[:6]


def _sample(tree: Any) -> str:
    """Return a short text that a tree takes, as far as can be told without trying."""
    return "".join(_one(op, value) for op, value in tree)


def _one(op: Any, value: Any) -> str:
    if op is sre.LITERAL:
        return chr(value)
    if op is sre.NOT_LITERAL:
        return "-" if value == ord("a") else "a"
    if op is sre.ANY:
        return "a"
    if op is sre.IN:
        return _members(value)[0]
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        times: int = max(1, min(value[0], 200))
        return _sample(value[2]) * times
    if op is sre.SUBPATTERN:
        return _sample(value[3])
    if op is sre.ATOMIC_GROUP:
        return _sample(value)
    if op is sre.BRANCH:
        return _sample(value[1][0])
    return ""


def _members(allowed: Any) -> list[str]:
    """Return a few characters of a class."""
    signs = [sign for sign in _ANY if _holds(allowed, sign)]
    literal = [chr(value) for op, value in allowed if op is sre.LITERAL]
    ranges = [chr(value[0]) for op, value in allowed if op is sre.RANGE]
    negated = allowed[0][0] is sre.NEGATE
    return list(dict.fromkeys([*signs[:3], *([] if negated else [*literal[:3], *ranges[:2]])])) or [
        "a"
    ]


def _holds(allowed: Any, sign: str) -> bool:
    negated = allowed[0][0] is sre.NEGATE
    held = any(_in(op, value, sign) for op, value in allowed)
    return held is not negated


def _in(op: Any, value: Any, sign: str) -> bool:
    if op is sre.LITERAL:
        return bool(ord(sign) == value)
    if op is sre.RANGE:
        return bool(value[0] <= ord(sign) <= value[1])
    if op is sre.CATEGORY:
        name = str(value).removeprefix("CATEGORY_").removeprefix("UNI_")
        plain = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.removeprefix("NOT_")]
        return bool(re.match(plain, sign)) is not name.startswith("NOT_")
    return False

"""Finds the JSON objects in a model's answer, and mends what models write instead of JSON. Pure.

What the objects hold is read with the same patience.
"""

import json
import re
from collections.abc import Collection, Iterator

_MAX_STARTS = 64  # attempts to parse an object
_LONGEST_NUMBER = 30  # digits; what is above stays far above
_MAX_DEPTH = 3  # of objects around the answer: {"name": ..., "arguments": {...}}
# Models write line ends into strings, and numbers without end.
_DECODER = json.JSONDecoder(strict=False, parse_int=lambda digits: int(digits[:_LONGEST_NUMBER]))
_INTEGER = re.compile(r"\D{0,12}(\d{1,4})\D{0,3}")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|//|/\*', re.DOTALL)
# A string in double quotes, in which nothing is mended, or one in single quotes.
_QUOTED = re.compile(
    r'"(?:[^"\\]|\\.)*+"?|(?<=[\[{,:\s])\'([^\'\n]{0,300})\'(?=\s*[,:}\]])', re.DOTALL
)
_OUTSIDE = re.compile(
    r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[\]}])|(?<=[:,\[\s])(None|True|False)\b', re.DOTALL
)
_OF_PYTHON = {"None": "null", "True": "true", "False": "false"}


def find_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the outermost JSON objects in a text, and those that they wrap, also as a string.

    If one is cut off, those within it are yielded; if one is not JSON as it stands, but is without
    comments, single quotes, trailing commas and Python's constants, it is read so.
    """
    text = _unquote(text)
    start = text.find("{")
    if start >= 0 and _read_at(text, start) is None:
        mended = _mend_json(text)
        start = mended.find("{")
        text = mended if start >= 0 and _read_at(mended, start) else text
    for _ in range(_MAX_STARTS):
        start = text.find("{", start)
        if start < 0:
            return
        read = _read_at(text, start)
        if read:
            yield from _unwrap(read[0])
        start = read[1] if read else start + 1


def list_entries(text: str, *names: str, loose: Collection[str] = ()) -> list[object] | None:
    """Return the list under one of some names in the last object that has one.

    Of an answer that is cut off, what the list would hold: objects with all of `loose`.
    """
    parts: list[object] = []
    whole: list[object] | None = None
    for written in find_objects(text):
        listed = next((written[name] for name in names if name in written), None)
        if isinstance(listed, list):
            whole = listed
        elif loose and written.keys() >= set(loose):
            parts.append(written)
    return whole if whole is not None else parts or None


def as_list(value: object) -> list[object]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def read_integer(value: object) -> int | None:
    """Return a whole number, given as such or in a text as "[3]" or "passage 3", or None."""
    if isinstance(value, str):
        digits = _INTEGER.fullmatch(value)
        return int(digits[1]) if digits else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_at(text: str, start: int) -> tuple[dict[str, object], int] | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value, end


def _unwrap(value: dict[str, object], depth: int = 0) -> Iterator[dict[str, object]]:
    yield value
    for inner in value.values() if depth < _MAX_DEPTH else ():
        wrapped: object = inner
        if isinstance(inner, str):  # which begins with an object
            read = _read_at(inner, inner.index("{")) if inner.lstrip().startswith("{") else None
            wrapped = read and read[0]
        if isinstance(wrapped, dict):
            yield from _unwrap(wrapped, depth + 1)


def _unquote(text: str) -> str:
    """Return the JSON in a JSON string."""
    text = text.strip().lstrip("\ufeff").strip()
    if not text.startswith('"'):
        return text
    try:
        inner = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, str) else text


def _mend_json(text: str) -> str:
    """Return JSON without comments, single quotes, trailing commas and Python's constants."""
    text = _QUOTED.sub(lambda entry: entry[0] if entry[1] is None else json.dumps(entry[1]), text)
    text = _drop_comments(text)
    return _OUTSIDE.sub(lambda part: part[1] or _OF_PYTHON.get(part[2], ""), text)


def _drop_comments(text: str) -> str:
    """Return JSON without comments; what looks like one inside a string is none."""
    pieces, position = [], 0
    for match in _TOKEN.finditer(text):
        if match.start() < position or match[0].startswith('"'):
            continue
        mark = "\n" if match[0] == "//" else "*/"
        end = text.find(mark, match.end())
        if end < 0:
            break
        pieces.append(text[position : match.start()])
        position = end + (len(mark) if mark == "*/" else 0)
    return "".join((*pieces, text[position:]))

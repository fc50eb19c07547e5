"""Brings a judge's answer of an unusual shape into the usual one, before it is parsed. Pure.

Models answer with maps of objects, scores such as "5/6", JSON lines, JSON in a string, Python's
quotes, comments, and Markdown tables. A text that is in none of these shapes stays as it is.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from engine.llm.asking import compact_json, find_objects

_NUMBERS = ("i", "id", "index", "number", "#", "no", "tweet", "candidate")
_SCORES = ("s", "score", "judgment", "rating", "points")
_REASONS = ("why", "reason", "reasoning", "explanation")
_LONGEST = 64_000  # characters
# A number, alone, out of six, or before words about it.
_SCORE = re.compile(
    r"\s{0,9}\*{0,3}(-?\d{1,3}(?:\.\d{1,3})?)\*{0,3}\s{0,9}"
    r"(?:(?:/|out of|of|de|von|sur)\s*6\b.*|[-–—:(,;].*)?",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"\s*[#*(\[]{0,3}(\d{1,6})[\])*.:]{0,3}\s*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|//|/\*', re.DOTALL)
_SINGLE_QUOTED = re.compile(r"(?<=[\[{,:\s])'([^'\n]{0,300})'(?=\s*[,:}\]])")
_ROW = re.compile(r"^[ \t]{0,20}\|(.+)\|[ \t]{0,20}$", re.MULTILINE)


def reshape_answer(text: str) -> str | None:
    """Return the answer with its scores as pairs, or None if it is in no shape known here."""
    text = _unquote(text[:_LONGEST].strip().lstrip("\ufeff").strip())
    answer = _find_answer(text)
    scores = list(_list_entries(answer.get("scores"))) if answer else []
    return compact_json({**answer, "scores": scores}) if answer and scores else None


def _unquote(text: str) -> str:
    """Return the JSON in a JSON string."""
    if not text.startswith('"'):
        return text
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, str) else text


def _find_answer(text: str) -> Mapping[str, object] | None:
    """Return an object with "scores", the last of the text, made from other shapes if need be."""
    uncommented = _drop_comments(text)
    requoted = _SINGLE_QUOTED.sub(lambda entry: json.dumps(entry[1]), uncommented)
    for tried in dict.fromkeys((text, uncommented, requoted)):
        objects = list(find_objects(tried))
        named = [entry for entry in objects if entry.get("scores")]
        if named:
            return named[-1]
        if scores := _join_lines(objects):
            count = next((entry["n"] for entry in objects if "n" in entry), None)
            return {"n": count, "scores": scores} if count is not None else {"scores": scores}
    rows = list(_read_table(text))
    return {"scores": rows} if rows else None


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


def _join_lines(objects: Sequence[Mapping[str, object]]) -> list[object]:
    """Return the entries of JSON lines, or of a map whose keys are numbers."""
    return [
        found
        for found in objects
        if (_first(found, _NUMBERS) is not None and _first(found, _SCORES) is not None)
        or (found and all(map(_NUMBER.fullmatch, found)))
    ]


def _read_table(text: str) -> Iterator[list[object]]:
    """Yield number and score of the rows of a Markdown table, by the names in its first row."""
    rows = [[cell.strip() for cell in match[1].split("|")] for match in _ROW.finditer(text)]
    if not rows:
        return
    names = [name.strip("*` ").casefold() for name in rows[0]]
    number = next((at for at, name in enumerate(names) if name in _NUMBERS), None)
    score = next((at for at, name in enumerate(names) if name in _SCORES), None)
    if number is None or score is None:
        return
    for row in rows[1:]:
        if len(row) == len(names):
            entry = _pair(row[number], row[score], None)
            yield from [entry] if entry else []


def _list_entries(scores: object) -> Iterator[object]:
    """Yield the entries of "scores", each as a pair where it can be read as one."""
    if isinstance(scores, Mapping):
        yield from _entries_of_map(scores)
        return
    for entry in scores if isinstance(scores, list) else ():
        if isinstance(entry, Mapping) and _first(entry, _NUMBERS) is None:
            yield from _entries_of_map(entry)
        elif isinstance(entry, Mapping):
            score = _first(entry, _SCORES)
            yield _pair(_first(entry, _NUMBERS), score, _first(entry, _REASONS)) or entry
        elif isinstance(entry, list) and len(entry) in (2, 3):
            yield _pair(entry[0], entry[1], entry[2] if len(entry) == 3 else None) or entry
        else:
            yield entry


def _entries_of_map(scores: Mapping[str, object]) -> Iterator[object]:
    """Yield the entries of {"1": 5} and {"1": {"score": 5}}."""
    for number, value in scores.items():
        score = _first(value, _SCORES) if isinstance(value, Mapping) else value
        why = _first(value, _REASONS) if isinstance(value, Mapping) else None
        yield _pair(number, score, why) or {number: value}


def _pair(number: object, score: object, why: object) -> list[object] | None:
    """Return number, score and maybe a reason; None if one of the two cannot be read."""
    read_number, read_score = _read(number, _NUMBER), _read(score, _SCORE)
    if read_number is None or read_score is None:
        return None
    return [read_number, read_score, *([why] if isinstance(why, str) else [])]


def _read(value: object, pattern: re.Pattern[str]) -> object:
    """Return a number as it is, or the number that a text begins with."""
    if not isinstance(value, str):
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    match = pattern.fullmatch(value)
    if match is None:
        return None
    return float(match[1]) if "." in match[1] else int(match[1])


def _first(entry: Mapping[str, object], names: Sequence[str]) -> object:
    return next((entry[name] for name in names if name in entry), None)

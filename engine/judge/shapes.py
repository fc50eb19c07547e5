"""Brings a judge's answer of an unusual shape into the usual one, before it is parsed. Pure.

Models answer with maps of objects, scores such as "5/6", JSON lines, JSON in a string, Python's
quotes, comments, and Markdown tables. A text that is in none of these shapes stays as it is.
"""

import re
from collections.abc import Iterator, Mapping

from engine.llm.answer_json import find_objects
from engine.llm.asking import compact_json
from engine.text.clean import fold_case_and_accents

# The names of fields and columns, folded.
_NUMBERS = re.compile(
    r"(?:i|id|index|#|n|no|nr|number|numero|nummer|tweet|post|text|candidate|candidato|kandidat)"
    r"[ _.#-]{0,3}(?:id|index|number|no)?"
)
_SCORES = re.compile(
    r"(?:s|score|judge?ment|rating|points|value|grade|puntuacion|puntaje|punteggio|note|bewertung"
    r"|pontuacao)\b.{0,20}"
)
_REASONS = re.compile(r"why|reason|reasoning|explanation")
_LONGEST = 64_000  # characters
# A number, alone, out of six, or before words about it.
_SCORE = re.compile(
    r"\s{0,9}\*{0,3}(-?\d{1,3}(?:\.\d{1,3})?)\*{0,3}\s{0,9}"
    r"(?:(?:/|out of|of|de|von|sur)\s*6\b.*|[-–—:(,;].*)?",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"\s*(?:[^\W\d_]{1,12}[ _-]?)?[#*(\[]{0,3}(\d{1,6})[\])*.:]{0,3}\s*")
_ROW = re.compile(r"^.*\|.*$", re.MULTILINE)
# "1. 5", "[1]: 5/6 - why", "Tweet 1: score 5", and "i: 1" above "score: 5".
_LINE = re.compile(
    r"^[^\w\n]{0,9}(?:[a-z]{1,12}[^\w\n]{0,4})?(\d{1,6})"
    r"(?:[^\w\n]{1,9}|\W{1,12}(?:score|rating|judge?ment|s)\W{0,9})"
    r"(\d(?:\.\d{1,3})?)(?=[^\w\n]{0,9}$|[^\S\n]*(?:[|/,;:(*–—-]|out of\b))",
    re.IGNORECASE | re.MULTILINE,
)


def reshape_answer(text: str) -> str | None:
    """Return the answer with its scores as pairs, or None if it is in no shape known here."""
    answer = _find_answer(text[:_LONGEST])
    scores = list(_list_scores(answer)) if answer else []
    return compact_json({**answer, "scores": scores}) if answer and scores else None


def _find_answer(text: str) -> Mapping[str, object] | None:
    """Return an object with "scores", the last of the text, made from other shapes if need be."""
    objects = list(find_objects(text))
    named = [entry for entry in objects if entry.get("scores")]
    if named:
        return named[-1]
    lines = [  # JSON lines, or a map whose keys are numbers
        entry
        for entry in objects
        if (_first(entry, _NUMBERS) is not None and _first(entry, _SCORES) is not None)
        or (entry and all(map(_NUMBER.fullmatch, entry)))
    ]
    if lines:
        count = next((entry["n"] for entry in objects if "n" in entry), None)
        return {"n": count, "scores": lines} if count is not None else {"scores": lines}
    listed = (_pair(match[1], match[2], None) for match in _LINE.finditer(text))
    rows = _read_table(text) or list(filter(None, listed))
    return {"scores": rows} if rows else None


def _read_table(text: str) -> list[list[object]]:
    """Return number and score of the rows of a Markdown table, by the names in its first row."""
    lines = (match[0].strip().strip("|") for match in _ROW.finditer(text))
    first, *rows = [[cell.strip() for cell in line.split("|")] for line in lines] or [[]]
    names = [fold_case_and_accents(name.strip("*` ")) for name in first]
    number = next((at for at, name in enumerate(names) if _NUMBERS.fullmatch(name)), None)
    score = next((at for at, name in enumerate(names) if _SCORES.fullmatch(name)), None)
    if number is None or score is None:
        return []
    whole = (row for row in rows if len(row) == len(names))
    return list(filter(None, (_pair(row[number], row[score], None) for row in whole)))


def _list_scores(answer: Mapping[str, object]) -> Iterator[object]:
    """Yield the entries of "scores"; scores alone are those of all candidates, in their order."""
    scores = answer["scores"]
    is_bare = isinstance(scores, list) and all(isinstance(score, int) for score in scores)
    if isinstance(scores, list) and is_bare and len(scores) == answer.get("n"):
        scores = [[number, score] for number, score in enumerate(scores, start=1)]
    yield from _list_entries(scores)


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
        if isinstance(value, list):
            yield from _list_entries(value)
            continue
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


def _first(entry: Mapping[str, object], names: re.Pattern[str]) -> object:
    return next(
        (entry[name] for name in entry if names.fullmatch(fold_case_and_accents(name[:40]))), None
    )

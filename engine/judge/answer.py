"""Tolerant parser for a model's answer to the judge's request. Pure.

The expected answer is `{"n": 60, "scores": [[12, 5, "p"], [40, 3, "c"]], "best": [12], "why":
[{"i": 12, "why": "..."}]}`. The rules for anything else:

- Code fences, prose, thinking blocks and byte order marks around the JSON are skipped; of several
  JSON values the last one with "scores" is used.
- Objects (`{"i": 12, "score": 5}`), maps (`{"12": 5}`) and deeper nesting are read like pairs;
  numbers may be strings or floats. A score is rounded and refused outside 0..6, not clamped.
- A candidate with two different scores gets the lower one: doubt counts against a hit.
- Kinds may be letters or words; one that means none of them is no kind.
- Of `best`, those count that are scored high enough, in its order and each once.
- Reasons are read beside the scores; if they break the JSON, only they are lost.
- A missing candidate scores 0 only if the model ended by itself, counted all candidates, and
  nothing in its answer was lost; otherwise it is not judged. Nor is one whose score is refused.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from engine.judge.shapes import reshape_answer
from engine.search import HIGHEST_JUDGMENT, HitKind
from engine.text.clean import without_links

MIN_SCORE = 4  # judgment of a text that may be shown, with a reason
MAX_BEST = 3
LONGEST = 240  # characters of a reason

_NUMBER_KEYS = ("i", "id", "index", "number")
_REASON_KEYS = ("why", "reason")
_KIND_KEYS = ("k", "kind", "type")
# Models that were asked for a letter also write a word.
_KINDS = {
    word: kind
    for kind, words in {
        HitKind.PREDICTION: ("p", "prediction", "warning"),
        HitKind.DEMAND: ("d", "demand", "promise", "proposal", "wish"),
        HitKind.MIRROR: ("m", "mirror"),
        HitKind.EARLIER_CASE: ("c", "case", "earlier", "earlier case"),
    }.items()
    for word in words
}
# A word that is an address, with or without a scheme: a reason must not contain links.
_LINK = re.compile(r"://|www[.。．｡]|mailto:|[\w-][.。．｡][^\W\d_]{2,}", re.IGNORECASE)
_MENTION = re.compile(r"[@＠]\w+|<[@!#][^<>]*>")
# Control characters, line ends, bidirectional and invisible characters, and markup.
_UNWANTED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\U000e0000-\U000e0fff<>`*_|\\[\\]{}#]"
)
# A whole answer has about 600 characters; the rest bounds the work.
MAX_LENGTH = 64_000
MAX_STARTS = 64
MAX_DEPTH = 4
# Damage after which an answer may be in a shape of its own (engine.judge.shapes).
_POORLY_READ = frozenset({"bad_score", "unknown_number", "unreadable", "truncated"})
# Damage that may hide a judgment: a missing score may have been lost.
_LOSSY = frozenset({"truncated", "unreadable", "unknown_number"})
_SCORE_KEYS = ("s", "score", "judgment", "rating")
_TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")
_REASONS = re.compile(r',\s*"why"\s*:.*', re.DOTALL)
_BEST = re.compile(r'"best"\s*:\s*\[([\d\s,]{0,80})\]')
_OPENING = re.compile(r"[\[{]")
_NUMERIC = re.compile(r"-?\d{1,9}(\.\d{1,9})?")
# A JSON string, up to its end or that of the answer: nothing inside a string is a score.
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_SAID = re.compile(r'"(?:[A-Za-z]{1,9}|-?[0-9.]{1,20})"')
_DIGITS = r"[\"']?(-?(?:0|[1-9]\d{0,8})(?:\.\d{1,9})?)[\"']?"
_SALVAGE = re.compile(
    rf"[\[(]\s*{_DIGITS}\s*,\s*{_DIGITS}\s*"  # [12, 5, "p"]
    r"(?:,\s*[\"']([A-Za-z]{1,9})[\"']\s*)?[\])]"
    rf"|[\"'](?:{'|'.join(_NUMBER_KEYS)})[\"']\s*:\s*{_DIGITS}\s*,"
    rf"\s*[\"'](?:{'|'.join(_SCORE_KEYS)})[\"']\s*:\s*{_DIGITS}\s*[,}}]"  # "i": 12, "s": 5}
    rf"|[\"']([1-9]\d{{0,8}})[\"']\s*:\s*{_DIGITS}\s*[,}}]"  # "12": 5,
)
Entry = tuple[object, object, object]  # candidate number, score and kind, as written
Form = Callable[[object], dict[str, object] | None]


def read_reasons(answer: Mapping[str, object]) -> dict[int, str]:
    """Return the reasons in an answer by candidate number, ignoring everything else."""
    return {
        number: reason
        for raw, text in _reason_entries(answer)
        if (number := _read_integer(raw)) is not None and (reason := plain_reason(text))
    }


def plain_reason(text: object) -> str | None:
    """Return a reason that is safe to show, or None if nothing is left of it.

    One line without links, mentions, commands and markup. One that is too long is none: half a
    sentence tells nothing.
    """
    if not isinstance(text, str) or len(text) > 10 * LONGEST:
        return None
    plain = " ".join(word for word in text.split() if not _LINK.search(word))
    # Removing characters may join others into a link or a command.
    line = " ".join(without_links(_UNWANTED.sub(" ", _MENTION.sub(" ", plain))).split())
    is_whole = len(line) <= LONGEST and not line.endswith("…")
    return line if is_whole and any(character.isalpha() for character in line) else None


def _reason_entries(answer: Mapping[str, object]) -> Iterator[tuple[object, object]]:
    why = answer.get("why")
    if isinstance(why, Mapping):
        yield from why.items()
    for entry in (*_as_list(why), *_as_list(answer.get("scores"))):
        if isinstance(entry, Mapping):
            yield _first_value(entry, _NUMBER_KEYS), _first_value(entry, _REASON_KEYS)
        elif isinstance(entry, list) and len(entry) in (2, 3) and not read_kind(entry[-1]):
            yield entry[0], entry[-1]


def _as_list(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


def _first_value(entry: Mapping[str, object], names: Iterable[str]) -> object:
    return next((entry[name] for name in names if name in entry), None)


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """Scores by candidate number, for judged candidates only, and damage counted by kind.

    `kinds` are those of some candidates, `best` the numbers of at most three that score 4 or more,
    and `event` those of at most three written about the event of the headline itself. `reasons`
    holds texts that are safe to show, for candidates that score 4 or more; `count` is how many
    candidates the model says it read.
    """

    scores: Mapping[int, int]
    damage: Mapping[str, int]
    kinds: Mapping[int, HitKind] = field(default_factory=dict)
    best: tuple[int, ...] = ()
    event: tuple[int, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    count: int | None = None


def read_judgments(content: str, *, sent: int, finished: bool) -> JudgeAnswer:
    """Read an answer about the candidates 1..`sent`.

    `finished` is True if the model ended by itself. Never raises; empty `scores` = not usable.
    """
    text = content[:MAX_LENGTH].rpartition("</think>")[2]
    read = _read_text(text, sent, finished)
    if _POORLY_READ & read.damage.keys() and (reshaped := reshape_answer(text)):
        better = _read_text(reshaped, sent, finished)
        if len(better.scores) > len(read.scores):
            return replace(better, damage={**better.damage, "reshaped": 1})
    return read


def _read_text(content: str, sent: int, finished: bool) -> JudgeAnswer:
    damage: Counter[str] = Counter()
    text = content.strip().lstrip("\ufeff")
    answer, entries = _find_answer(text, damage)
    seen = _read_integer(answer.get("n"))
    scores, refused = _collect_scores(entries, sent, damage)
    if not finished:
        damage["unfinished"] += 1
    if seen != sent:
        damage["miscounted"] += 1
    elif finished and not _LOSSY & damage.keys():
        absent = set(range(1, sent + 1)) - scores.keys() - refused
        scores |= dict.fromkeys(absent, 0)
    best = answer.get("best")
    if "best" not in answer and (match := _BEST.search(text)):  # it broke off after them
        best = match[1].split(",")
    return JudgeAnswer(
        scores=scores,
        damage=dict(damage),
        kinds={  # of several the last one
            number: kind
            for raw_number, _, raw_kind in entries
            if (number := _read_integer(raw_number)) is not None
            and scores.get(number)
            and (kind := read_kind(raw_kind))
        },
        best=_choose_numbers(best, lambda number: scores.get(number, 0) >= MIN_SCORE),
        event=_choose_numbers(answer.get("event"), lambda number: 1 <= number <= sent),
        reasons={
            number: reason
            for number, reason in read_reasons(answer).items()
            if scores.get(number, 0) >= MIN_SCORE
        },
        count=seen,
    )


def read_kind(raw: object) -> HitKind | None:
    """Return the kind that a letter or a word means, or None."""
    return _KINDS.get(raw.strip().lower()) if isinstance(raw, str) else None


def _choose_numbers(written: object, is_fit: Callable[[int], bool]) -> tuple[int, ...]:
    """Return the first three different numbers of a list that are fit."""
    numbers = map(_read_integer, _as_list(written))
    return tuple(dict.fromkeys(n for n in numbers if n is not None and is_fit(n)))[:MAX_BEST]


def _find_answer(text: str, damage: Counter[str]) -> tuple[dict[str, object], list[Entry]]:
    """Return the best JSON value in `text` and its entries, or those salvaged from a broken one."""
    # Values without the name "scores" may be fragments of a broken answer that had it.
    forms = (_name_scores,) if "scores" in text else (_name_scores, _wrap_bare_scores)
    for form in forms:
        for kind, tried in (
            ("", text),
            ("trailing_comma", _TRAILING_COMMA.sub("", text)),
            ("broken_reasons", _REASONS.sub("}", text)),
        ):
            last = None
            for value, length in _find_json_values(tried):
                answer = _unwrap_answer(value, form)
                last = last if answer is None else (answer, length)
            if last:
                damage.update([kind] if kind else [])
                damage.update(["surrounded"] if last[1] < len(tried) else [])
                return last[0], list(_flatten_entries(last[0]["scores"], damage))
    entries = list(_salvage_entries(text))
    damage["truncated" if entries else "unreadable" if text else "empty"] += 1
    return {}, entries


def _find_json_values(text: str) -> Iterator[tuple[object, int]]:
    """Yield every outermost JSON array or object in `text`, with its length."""
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(MAX_STARTS):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        start = opening.start()
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
        else:
            yield value, position - start


def _unwrap_answer(value: object, form: Form, depth: int = 0) -> dict[str, object] | None:
    """Return a value, or the only one it wraps, in that form; None if it is in none."""
    if (answer := form(value)) is not None:
        return answer
    inner = _list_containers(value)
    is_wrapped = len(inner) == 1 and depth < MAX_DEPTH
    return _unwrap_answer(inner[0], form, depth + 1) if is_wrapped else None


def _name_scores(value: object) -> dict[str, object] | None:
    """Return an object with "scores"."""
    return value if isinstance(value, dict) and "scores" in value else None


def _wrap_bare_scores(value: object) -> dict[str, object] | None:
    """Return a map of numbers or a list of entries, put under "scores"."""
    if isinstance(value, dict):
        is_bare = bool(value) and all(_NUMERIC.fullmatch(key) for key in value)
    else:
        is_bare = bool(_list_containers(value))
    return {"scores": value} if is_bare else None


def _list_containers(value: object) -> list[object]:
    parts: Iterable[object] = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list):
        parts = value
    return [part for part in parts if isinstance(part, (dict, list))]


def _flatten_entries(value: object, damage: Counter[str], depth: int = 0) -> Iterator[Entry]:
    """Flatten any structure that holds the scores into entries."""
    if isinstance(value, dict):
        damage["reshaped"] += 1
        number = _first_value(value, _NUMBER_KEYS)
        if number is not None:
            yield number, _first_value(value, _SCORE_KEYS), _first_value(value, _KIND_KEYS)
        elif all(_NUMERIC.fullmatch(key) for key in value):
            yield from ((number, score, None) for number, score in value.items())
        else:
            damage["unreadable"] += 1
    elif isinstance(value, list) and depth < MAX_DEPTH:
        for item in value:
            if isinstance(item, list) and len(item) in (2, 3) and not _list_containers(item):
                yield item[0], item[1], item[-1]
            else:
                yield from _flatten_entries(item, damage, depth + 1)
    else:
        damage["unreadable"] += 1


def _salvage_entries(text: str) -> Iterator[Entry]:
    """Yield complete entries after the last "scores", or after the first "[[" of a bare list."""
    text = _TEXT.sub(lambda found: found[0] if _SAID.fullmatch(found[0]) else '""', text)
    start = text.rfind("scores")
    if start < 0:
        start = text.find("[[")
    if start >= 0:
        for match in _SALVAGE.finditer(text, start):
            number, score, *kind = (group for group in match.groups() if group is not None)
            yield json.loads(number), json.loads(score), kind[0] if kind else None


def _collect_scores(
    entries: Iterable[Entry], sent: int, damage: Counter[str]
) -> tuple[dict[int, int], set[int]]:
    """Return the valid scores, and the numbers whose score was refused."""
    scores: dict[int, int] = {}
    refused: set[int] = set()
    for raw_number, raw_score, _ in entries:
        number, real = _read_integer(raw_number), _read_real(raw_score)
        score = None if real is None else round(real)
        if type(raw_number) is not int or type(raw_score) is not int:
            damage["coerced"] += 1
        if number is None or not 1 <= number <= sent:
            damage["unknown_number"] += 1
        elif score is None or not 0 <= score <= HIGHEST_JUDGMENT:
            damage["bad_score"] += 1
            refused.add(number)
        else:
            if number in scores:
                damage["repeated"] += 1
            scores[number] = min(score, scores.get(number, HIGHEST_JUDGMENT))
    return scores, refused - scores.keys()


def _read_integer(raw: object) -> int | None:
    value = _read_real(raw)
    return int(value) if value is not None and value.is_integer() else None


def _read_real(raw: object) -> float | None:
    """Return a finite number of ordinary size; None for anything else, including booleans."""
    if isinstance(raw, str) and _NUMERIC.fullmatch(raw.strip()):
        return float(raw)
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return None
    return float(raw) if abs(raw) < 1e9 else None  # neither infinity nor NaN is

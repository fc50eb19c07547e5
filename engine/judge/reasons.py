"""The model's reasons for high scores: short opinions, never facts. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping

LEAST_SCORE = 4  # judgment that is worth a reason
MOST_WORDS = 12
LONGEST = 120  # characters

_NUMBER_KEYS = ("i", "id", "index", "number")
_REASON_KEYS = ("why", "reason")
# A word that is an address, with or without a scheme: a reason must not contain links.
_LINK = re.compile(r"://|www\.|mailto:|[\w-]\.[a-z]{2,}", re.IGNORECASE)
_MENTION = re.compile(r"[@＠]\w+|<[@!#][^>]*>")
# Control characters, line ends, bidirectional and invisible characters, and markup.
_UNWANTED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\U000e0000-\U000e007f<>`*_|\\[\\]{}#]"
)


def read_reasons(answer: Mapping[str, object]) -> dict[int, str]:
    """Return the reasons in an answer by candidate number, ignoring everything else."""
    return {
        number: reason
        for raw, text in _entries(answer)
        if (number := _number(raw)) is not None and (reason := plain_reason(text))
    }


def plain_reason(text: object) -> str | None:
    """Return a reason that is safe to show, or None if nothing is left of it.

    One line of at most 12 words and 120 characters, without links, mentions and markup.
    """
    if not isinstance(text, str):
        return None
    plain = " ".join(word for word in text[: 10 * LONGEST].split() if not _LINK.search(word))
    words = _UNWANTED.sub(" ", _MENTION.sub(" ", plain)).split()
    kept = words[:MOST_WORDS]
    while len(" ".join(kept)) > LONGEST:
        kept = kept[:-1]
    line = " ".join(kept)
    if not any(character.isalpha() for character in line):
        return None
    return line if len(kept) == len(words) else f"{line.rstrip(',;:.')}…"


def _entries(answer: Mapping[str, object]) -> Iterator[tuple[object, object]]:
    why = answer.get("why")
    if isinstance(why, Mapping):
        yield from why.items()
    for entry in (*_listed(why), *_listed(answer.get("scores"))):
        if isinstance(entry, Mapping):
            yield _named(entry, _NUMBER_KEYS), _named(entry, _REASON_KEYS)
        elif isinstance(entry, list) and len(entry) in (2, 3):
            yield entry[0], entry[-1]


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


def _named(entry: Mapping[str, object], names: Iterable[str]) -> object:
    return next((entry[name] for name in names if name in entry), None)


def _number(raw: object) -> int | None:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    return int(raw) if isinstance(raw, str) and re.fullmatch(r"[0-9]{1,9}", raw) else None

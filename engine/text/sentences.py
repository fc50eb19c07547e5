"""Splitting text into sentences."""

import re

_END = re.compile(
    r"(?<=[.!?…])(?P<closing>[\"'”’»)\]]*)(?P<marks>(?:\s*[\[［【][^\[\]［］【】]{1,40}[\]］】])*)"
    r"(?:\s+|$)(?=[^a-zß-öø-ÿ]|$)"
)
_LONGEST_ABBREVIATION = 6  # characters, with the one before it and its stop
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Dra|Sr|Sra|Jr|St|vs|Gen|Gov|Sen|Rep|Lt|Inc|art|pág|EE)|\b\w)\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, trimmed; marks like [1] stay with the sentence they follow.

    A line end ends a sentence. "Dr." and "U.S." do not.
    """
    return [one for line in text.split("\n") for one in _of_line(line)]


def _of_line(line: str) -> list[str]:
    found: list[str] = []
    start = 0
    for end in _END.finditer(line):
        sentence = line[start : end.end()].strip()
        if (
            end.end() < len(line)
            and not end["marks"]
            and _ABBREVIATED.search(sentence[-_LONGEST_ABBREVIATION:])
        ):
            continue
        found.append(sentence)
        start = end.end()
    return [one for one in (*found, line[start:].strip()) if one]

"""Texts within a platform's limits, counted in its own units.

A measure returns the length of a text in such a unit. It grows with the text and is never less
than the number of characters, so at most `limit` characters need to be examined.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable

Measure = Callable[[str], int]
_ELLIPSIS = "…"
_JOINER = "\u200d"


def utf16_length(text: str) -> int:
    """Return the length that Telegram counts: characters beyond U+FFFF count twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, limit: int, measure: Measure = len) -> str:
    """Return `text`, cut at a word boundary with "…" if it is longer than `limit`."""
    if measure(text) <= limit:
        return text
    room = limit - measure(_ELLIPSIS)
    if room < 0:
        return ""
    end = _find_longest_end(text, 0, room, measure)
    border = _last_blank(text, 0, end)
    # A text without spaces is cut anywhere, as half a word is better than nothing.
    end_of_rest = border if 2 * border >= end else _between_clusters(text, 0, end)
    return text[:end_of_rest].rstrip() + _ELLIPSIS


def split(text: str, limit: int, measure: Measure = len) -> list[str]:
    """Split `text` into pieces of at most `limit`, between lines if possible, else between words.

    Only whitespace at the breaks is lost. Raises ValueError if one character alone is too long.
    """
    pieces, start = [], _skip_blanks(text, 0)
    while start < len(text):
        end = _find_longest_end(text, start, limit, measure)
        if end <= start:
            raise ValueError(f"a character is longer than {limit}")
        if end < len(text):
            end = _find_border(text, start, end)
        pieces.append(text[start:end].rstrip())
        start = _skip_blanks(text, end)
    return pieces


def _find_longest_end(text: str, start: int, limit: int, measure: Measure) -> int:
    """Return the end of the longest part from `start` that measures at most `limit`."""
    window = text[start : start + max(limit, 0)]
    lengths = range(len(window) + 1)
    return start + bisect_right(lengths, limit, key=lambda n: measure(window[:n])) - 1


def _find_border(text: str, start: int, end: int) -> int:
    """Return the best break up to `end`: a line's end, else a space, else a cluster's end."""
    line = text.rfind("\n", start, end + 1)
    if line > (start + end) // 2:  # do not break after a short first line
        return line
    blank = _last_blank(text, start, end)
    return blank if blank > start else _between_clusters(text, start, end)


def _is_blank(text: str, at: int) -> bool:
    return text[at : at + 1].isspace()


def _last_blank(text: str, start: int, end: int) -> int:
    """Return the index of the last space up to `end`, or `start` if there is none."""
    while end > start and not _is_blank(text, end):
        end -= 1
    return end


def _skip_blanks(text: str, start: int) -> int:
    while _is_blank(text, start):
        start += 1
    return start


def _between_clusters(text: str, start: int, end: int) -> int:
    """Return the last index up to `end` that splits no visible character, else `end`."""
    place = end
    while place > start and _is_inside_cluster(text, start, place):
        place -= 1
    return place if place > start else end


def _is_inside_cluster(text: str, start: int, place: int) -> bool:
    """Return whether the characters around `place` belong to one visible character.

    Covers the common grapheme clusters of Unicode (UAX #29): joined emoji, skin tones, flags,
    accents and marks, and halves of surrogate pairs.
    """
    if place >= len(text):
        return False
    before, after = text[place - 1], text[place]
    if _JOINER in (before, after) or _is_modifier(after):
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, start, place) % 2 == 1
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _is_modifier(character: str) -> bool:
    """Return whether a character modifies the one before it."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags, as in the flag of Scotland
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, start: int, place: int) -> int:
    count = 0
    while place > start and _is_flag_letter(text[place - 1]):
        count, place = count + 1, place - 1
    return count

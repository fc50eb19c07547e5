"""Texts within a platform's limits, counted in its own units."""

from collections.abc import Callable

Measure = Callable[[str], int]
_ELLIPSIS = "…"


def utf16_length(text: str) -> int:
    """Return the length that Telegram counts: characters beyond U+FFFF count twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def cut(text: str, limit: int, measure: Measure = len) -> str:
    """Return `text`, or its beginning up to a word border with "…", at most `limit` long."""
    if measure(text) <= limit:
        return text
    if limit < 1:
        return ""
    room = limit - measure(_ELLIPSIS)
    head = text[:room]
    while measure(head) > room:
        head = head[:-1]
    whole, border, _ = head.rpartition(" ")
    # A text without blanks is cut anywhere; half a word is better than nothing of it.
    return (whole if border and len(whole) > room // 2 else head).rstrip() + _ELLIPSIS


def split(text: str, limit: int, measure: Measure = len) -> list[str]:
    """Return `text` in pieces of at most `limit`, broken between lines, else words."""
    pieces, rest = [], text
    while measure(rest) > limit:
        head = rest[:limit]
        while measure(head) > limit:
            head = head[:-1]
        border = max(head.rfind("\n"), 0) or max(head.rfind(" "), 0) or len(head)
        pieces.append(rest[:border].rstrip())
        rest = rest[border:].lstrip()
    return [piece for piece in (*pieces, rest) if piece]

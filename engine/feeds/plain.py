"""Converts what authors of feeds write to plain values within limits."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import urljoin, urlsplit

from engine.text.clean import shown

MOST_ENTRIES = 2_000  # the first ones are kept; a site's whole archive is not news
LONGEST_TITLE = 1_000
LONGEST_SUMMARY = 5_000
_MOST_TAGS = 20
_LONGEST_TAG = 100
_LONGEST_LINK = 2_000
_MARKUP_PER_TEXT = 10  # markup beyond this multiple of the longest text is cut off

_OPAQUE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(?:/?[a-zA-Z][^<>]*|!--[^<>]*--|!\[CDATA\[|![^<>]*)>")
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|cite|code|em|font|i|mark|q|s|small|span|strong|sub|sup|u)\b[^<>]*>",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"\s+")
_LANGUAGE = re.compile(r"\s*([a-z]{2})(?=[-_\s]|$)", re.IGNORECASE)


def plain_words(markup: str | None, longest: int = LONGEST_TITLE) -> str:
    """Return the words of `markup` in one line: no tags, entities decoded, at most `longest`.

    Takes time linear in `longest`.
    """
    text = (markup or "")[: longest * _MARKUP_PER_TEXT]
    text = _without_tags(shown(_without_tags(text)))  # markup is often escaped twice
    return _cut(_BLANKS.sub(" ", text).strip(), longest)


def _without_tags(text: str) -> str:
    return _TAG.sub(" ", _INLINE.sub("", _OPAQUE.sub(" ", text))) if "<" in text else text


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return text[: longest - 1].rsplit(" ", 1)[0] + "…"


def web_link(link: object, base: str) -> str | None:
    """Return `link` as an absolute http(s) address, or None if it is not one or is far too long."""
    if not isinstance(link, str) or not link.strip():
        return None
    try:
        absolute = shown(urljoin(base, link.strip()))
        parts = urlsplit(absolute)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    unbroken = not _BLANKS.search(absolute) and len(absolute) <= _LONGEST_LINK
    return absolute if usable and unbroken else None


def tags_of(names: Iterable[object]) -> tuple[str, ...]:
    """Return the first distinct names among `names` that contain words."""
    words = (plain_words(name, _LONGEST_TAG) for name in names if isinstance(name, str))
    return tuple(dict.fromkeys(word for word in words if word))[:_MOST_TAGS]


def feed_language(code: object) -> str | None:
    """Return the ISO 639-1 code at the start of a code such as "en-US"."""
    found = _LANGUAGE.match(code) if isinstance(code, str) else None
    return found[1].lower() if found else None


def iso_date(written: object) -> datetime | None:
    """Read an RFC 3339 date; one without a zone is taken as UTC. Return None for anything else."""
    try:
        date = datetime.fromisoformat(written) if isinstance(written, str) else None
        # Converted to UTC here, so that no zone pushes it out of range later.
        return date and (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def hash_of(*texts: str) -> str:
    """Return the SHA-256 of `texts` in hexadecimal."""
    return sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()

"""Reads a web page's title, date, site and language from its tags or JSON-LD."""

import html
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from selectolax.lexbor import LexborHTMLParser

from engine.page.charset import decode_page
from engine.page.excerpt import excerpt

_MOST_NODES = 2000
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
# Comment and CDATA marks around the JSON, from the days of XHTML.
_OPENINGS = ("<!--", "//<![CDATA[", "/*<![CDATA[*/", "<![CDATA[")
_CLOSINGS = ("-->", "//]]>", "/*]]>*/", "]]>")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def articles(texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the objects whose @type is an article or posting, in the order of the page.

    Texts that cannot be read are skipped. Never raises.
    """
    return [
        node for text in texts for node in _nodes(_read(text)) if _is_article(node.get("@type"))
    ]


def texts_of(nodes: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    """Yield the text under `name`, or the first of several, node by node."""
    for node in nodes:
        value = node.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str):
            yield value


def _read(text: str) -> object:
    bare = _unwrapped(text)
    for repair in (str, _without_trailing_commas, html.unescape):
        try:
            # Not strict: control characters inside strings are common.
            return json.loads(repair(bare), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _unwrapped(text: str) -> str:
    text = text.strip().lstrip("\ufeff")
    for opening, closing in zip(_OPENINGS, _CLOSINGS, strict=True):
        text = text.removeprefix(opening).removesuffix(closing).strip()
    return text


def _without_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(r"\1", text)


def _nodes(value: object) -> Iterator[Mapping[str, Any]]:
    """Iterate over the objects that may describe the page, outer ones first."""
    waiting = deque([value])
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        one = waiting.popleft()
        if isinstance(one, dict):
            yield one
            waiting += [one[name] for name in _INNER if name in one]
        elif isinstance(one, list):
            waiting += one


def _is_article(kind: object) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(isinstance(one, str) and one.endswith(("Article", "Posting")) for one in kinds)


_Value = TypeVar("_Value")

_LONGEST_TITLE = 1000
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_BLANKS = re.compile(r"\s+")
_LANGUAGE = re.compile(r"\s*([a-z]{2,3})(?=[-_\s]|$)", re.IGNORECASE)

# The names under which sites give the publication date, the usual ones first.
_FIRST_DATES = ("article:published_time", "og:published_time", "og:article:published_time")
_LAST_DATES = (
    "datepublished",
    "date",
    "dc.date",
    "dc.date.issued",
    "dcterms.date",
    "dcterms.created",
    "parsely-pub-date",
    "sailthru.date",
    "cxenseparse:recs:publishtime",
    "pubdate",
    "publishdate",
    "publish-date",
    "publication_date",
    "article.published",
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # what sites write for "no date"
_EARLIEST = datetime(1800, 1, 1, tzinfo=UTC)  # newspapers have put their archives online
# A local time read without its zone can be up to 14 hours ahead.
_AHEAD = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The properties of a page; None where it does not state them. `language` is ISO 639."""

    title: str | None
    published: datetime | None
    site: str | None
    language: str | None


def read_page(body: bytes, content_type: str | None, *, now: datetime) -> Page:
    """Read an HTML page. `content_type` is the value of that header.

    Never raises, whatever the bytes are; takes time linear in their number. Dates without a zone
    are taken as UTC; dates that are absurd, or more than a day after `now`, are ignored.
    """
    kept = excerpt(decode_page(body, content_type))
    tree = LexborHTMLParser(kept.markup)
    meta = _meta(tree)
    described = articles(kept.json_ld)
    titles = (
        *_picked(meta, "og:title", "twitter:title"),
        *texts_of(described, "headline"),
        *_texts(tree, "title"),
        *_texts(tree, "h1"),
    )
    dates = (
        *_picked(meta, *_FIRST_DATES),
        *texts_of(described, "datePublished"),
        *_attribute(tree, "time", "datetime"),
        *_picked(meta, *_LAST_DATES),
    )
    languages = (
        *_attribute(tree, "html", "lang"),
        *_picked(meta, "og:locale"),
        *texts_of(described, "inLanguage"),
    )
    return Page(
        title=_first(map(_shown, titles)),
        published=_first(_moment(date, now) for date in dates),
        site=_first(map(_shown, _picked(meta, "og:site_name", "application-name"))),
        language=_first(map(_language, languages)),
    )


def _meta(tree: LexborHTMLParser) -> dict[str, str]:
    """Map the name of each <meta>, in lower case, to its first content that is not empty."""
    found: dict[str, str] = {}
    for node in tree.css("meta"):
        attributes = node.attributes
        content = attributes.get("content") or ""
        for kind in ("property", "name", "itemprop"):
            if (name := attributes.get(kind)) and content.strip():
                found.setdefault(name.strip().lower(), content)
    return found


def _picked(meta: Mapping[str, str], *names: str) -> Iterator[str]:
    return (meta[name] for name in names if name in meta)


def _texts(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    return (node.text() for node in tree.css(selector))


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> Iterator[str]:
    return (node.attributes.get(name) or "" for node in tree.css(selector))


def _first(values: Iterable[_Value | None]) -> _Value | None:
    return next((value for value in values if value is not None), None)


def _shown(text: str) -> str | None:
    """Return one line without control characters; doubly escaped entities are resolved."""
    text = _UNPRINTABLE.sub(" ", html.unescape(text[: 2 * _LONGEST_TITLE]))
    return _BLANKS.sub(" ", text).strip()[:_LONGEST_TITLE] or None


def _language(tag: str) -> str | None:
    found = _LANGUAGE.match(tag)
    return found[1].lower() if found else None


def _moment(text: str, now: datetime) -> datetime | None:
    """Read a date. One that is ahead by less than a day becomes `now`."""
    try:
        moment = _parsed(text.strip())
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):  # email.utils raises all of them
        return None
    if moment == _EPOCH or not _EARLIEST <= moment <= now + _AHEAD:
        return None
    return min(moment, now)


def _parsed(text: str) -> datetime:
    if text[:1].isdigit():
        # 2013-02-08 04:20:27 +0000
        return datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-"))
    return parsedate_to_datetime(text)  # Fri, 08 Feb 2013 04:20:27 GMT

"""Decodes a web page, and reads its title, date, site, language and excerpt."""

import codecs
import html
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeVar

from selectolax.lexbor import LexborHTMLParser

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_META = re.compile(rb"""<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})""", re.I)
_HEADER = re.compile(r"""charset\s*=\s*["']?([\w:.-]{1,40})""", re.I)
_LONGEST_CHARACTER = 4  # bytes in UTF-8
_META_WITHIN = 4096  # bytes
# Python also decodes punycode, UTF-7 and others that no page is written in.
_WRITTEN_IN = re.compile(r"utf-(8|16.*)|iso8859-\d+|cp125\d|koi8-[ru]|gb\w+|big5|euc_\w+|shift_jis")
# What servers call by these names is Windows-1252
# (https://encoding.spec.whatwg.org/#names-and-labels).
_LATIN = frozenset({"ascii", "iso8859-1"})
_MAX_EXAMINED = 5000  # tags with the names below; real pages have some hundreds
_MAX_KEPT = 200
_LONGEST_TAG = 2000
_LONGEST_TEXT = 4000
_LONGEST_JSON = 300_000
_STEP = 50_000
_LONGEST_NAME = 20  # of those names, with "<" and the character that ends them
_NAME = re.compile(
    r"<(?:(!--)|(html|meta|title|h1|time|article|script|style|noscript|template|textarea|svg)"
    r"(?=[\s/>]))",
    re.IGNORECASE,
)
_REST_OF_TAG = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")
_TELLING_META = re.compile(
    r"title|og:description|date|publish|created|issued|modified|site_name|application-name|locale",
    re.IGNORECASE,
)
# Elements whose content is not markup of the page.
_OPAQUE = ("script", "style", "noscript", "template", "textarea", "svg")
_ANY_TAG = re.compile(r"<[^<>]*+>")
_OPAQUE_OPENING = re.compile(rf"<({'|'.join((*_OPAQUE, 'title'))})(?=[\s/>])", re.IGNORECASE)
_LENGTH_WITHIN = 500_000  # characters
_REFRESH = re.compile(
    r"""<meta\b[^<>]{0,200}?\brefresh\b[^<>]{0,200}?content\s*=\s*["']?\s*\d{1,2}(?:\.\d+)?\s*;"""
    r"""\s*url\s*=\s*["']?([^"'<>]{1,2000})""",
    re.IGNORECASE,
)
_REFRESH_WITHIN = 20_000  # characters
_COMMENT_END = re.compile("--!?>")
_MAX_NODES = 2000
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
# Comment and CDATA marks around the JSON, from the days of XHTML.
_OPENINGS = ("<!--", "//<![CDATA[", "/*<![CDATA[*/", "<![CDATA[")
_CLOSINGS = ("-->", "//]]>", "/*]]>*/", "]]>")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_Value = TypeVar("_Value")
_LONGEST_TITLE = 1000
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_BLANKS = re.compile(r"\s+")
_LANGUAGE = re.compile(r"\s*([a-z]{2,3})(?=[-_\s]|$)", re.IGNORECASE)
# The names under which sites give the publication date, the usual ones first.
_FIRST_DATES = ("article:published_time", "og:published_time", "og:article:published_time")
_LAST_DATES = (
    "datepublished", "date", "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created",
    "parsely-pub-date", "sailthru.date", "cxenseparse:recs:publishtime", "pubdate", "publishdate",
    "publish-date", "publication_date", "article.published",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:modified_time", "og:updated_time", "og:article:modified_time",
    "datemodified", "dc.date.modified", "dcterms.modified", "dc.modified", "last-modified",
    "lastmod", "modified",
)  # fmt: skip
_LONGEST_DATE = 200  # characters
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # what sites write for "no date"
_EARLIEST = datetime(1800, 1, 1, tzinfo=UTC)  # newspapers have put their archives online
# A local time read without its zone can be up to 14 hours ahead.
_AHEAD = timedelta(days=1)
_END = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in (*_OPAQUE, "title", "h1")
}


def declared_charset(content_type: str | None) -> str | None:
    """Return the encoding that a Content-Type header names, as written there."""
    match = _HEADER.search(content_type or "")
    return match[1] if match else None


def decode_page(body: bytes, content_type: str | None) -> str:
    """Decode the bytes of a page. Never raises.

    The byte order mark decides, else UTF-8 if the bytes are valid, else the declaration of the
    header or the page, else UTF-8 with the unreadable bytes replaced. Text in another encoding is
    practically never valid UTF-8, while the declarations often lie.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        if error.start > _META_WITHIN and error.start >= len(body) - _LONGEST_CHARACTER:
            # A long page was cut within a character.
            return body[: error.start].decode()
        labels = (_HEADER.search(content_type or ""), _META.search(body[:_META_WITHIN]))
        named = filter(None, (_find_codec(label[1]) for label in labels if label))
        return body.decode(next(named, "utf-8"), "replace")


def _find_codec(label: str | bytes) -> str | None:
    text = label.decode("ascii", "replace") if isinstance(label, bytes) else label
    try:
        name = codecs.lookup(text).name
    except (LookupError, ValueError):
        return None
    if name in _LATIN:
        return "cp1252"
    return name if _WRITTEN_IN.fullmatch(name) else None


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """`markup`: whole <html>, <meta>, <title>, <time> (of articles) and <h1>, in that order.
    `json_ld`: the texts of the scripts of that type."""

    markup: str
    json_ld: tuple[str, ...]
    text_length: int = 0  # characters outside tags and scripts, roughly


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str  # lower case; "!--" for a comment, "" for a tag that does not end soon
    text: str  # the opening tag as written
    end: int  # where its content begins


def read_page_excerpt(html: str) -> PageExcerpt:
    """Extract the tags that give title, date, site and language in linear time. Never raises."""
    markup_of: dict[str, list[str]] = {name: [] for name in ("html", "meta", "title", "time", "h1")}
    json_ld: list[str] = []
    for tag, content in _find_elements(html):
        if tag.name == "script":
            if "ld+json" in tag.text.lower() and len(content) <= _LONGEST_JSON:
                json_ld.append(content)
        elif tag.name in ("title", "h1"):
            markup_of[tag.name].append(f"{tag.text}{content[:_LONGEST_TEXT]}</{tag.name}>")
        elif tag.name != "meta" or _TELLING_META.search(tag.text):
            markup_of[tag.name].append(tag.text)
    # <h1> comes last: truncated inside a tag, it would swallow what follows.
    maximum = {"html": 1, "meta": _MAX_KEPT, "title": 1, "time": 1, "h1": 3}
    markup = "".join("".join(markup_of[name][:count]) for name, count in maximum.items())
    return PageExcerpt(markup, tuple(json_ld), measure_text(html[:_LENGTH_WITHIN]))


def measure_text(html: str) -> int:
    """Return roughly how many characters of a page are text. Takes linear time."""
    visible, position = [], 0
    while opening := _OPAQUE_OPENING.search(html, position):
        visible.append(html[position : opening.start()])
        ended = _END[opening[1].lower()].search(html, opening.end())
        end = html.find(">", ended.end()) if ended else -1
        if end < 0:
            position = len(html)
            break
        position = end + 1
    text = _ANY_TAG.sub(" ", "".join((*visible, html[position:])))
    return len(_BLANKS.sub(" ", text).strip())


def _find_elements(html: str) -> Iterator[tuple[_Tag, str]]:
    """Iterate over the relevant tags, each with its text content if that is asked for.

    <time> counts only after the first <article>.
    """
    unended: set[str] = set()  # names with no closing tag left: not searched for again
    wanted = {"html", "meta", "title", "h1", "script"}
    position = 0
    for _ in range(_MAX_EXAMINED):
        tag = _next_tag(html, position)
        if tag is None:
            return
        position, content = tag.end, ""
        if tag.name == "article":
            wanted.add("time")
        end = _COMMENT_END if tag.name == "!--" else _END.get(tag.name)
        if end and tag.name not in unended:
            if ended := end.search(html, tag.end):
                content, position = html[tag.end : ended.start()], ended.end()
            else:
                unended.add(tag.name)
        if tag.name in wanted:
            yield tag, content


def _next_tag(html: str, position: int) -> _Tag | None:
    """Return the first relevant tag at `position` or later.

    Searches in steps: a search holds the interpreter's lock, and the event loop waits for it.
    """
    steps = range(position, len(html), _STEP)
    names = (_NAME.search(html, start, start + _STEP + _LONGEST_NAME) for start in steps)
    match = next(filter(None, names), None)
    if match is None:
        return None
    if match[1]:
        return _Tag("!--", "", match.end())
    rest = _REST_OF_TAG.match(html, match.end(), match.end() + _LONGEST_TAG)
    if rest is None:
        return _Tag("", "", match.end())
    return _Tag(match[2].lower(), html[match.start() : rest.end()], rest.end())


def find_articles(texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the objects whose @type is an article or posting, in the order of the page.

    Texts that cannot be read are skipped. Never raises.
    """
    articles = []
    for node in (node for text in texts for node in _list_nodes(_parse_json(text))):
        kind = node.get("@type")
        kinds = kind if isinstance(kind, list) else [kind]
        if any(isinstance(name, str) and name.endswith(("Article", "Posting")) for name in kinds):
            articles.append(node)
    return articles


def list_texts_under(nodes: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    """Yield the text under `name`, or the first of several, node by node."""
    for node in nodes:
        value = node.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str):
            yield value


def _parse_json(text: str) -> object:
    text = text.strip().lstrip("\ufeff")
    for opening, closing in zip(_OPENINGS, _CLOSINGS, strict=True):
        text = text.removeprefix(opening).removesuffix(closing).strip()
    for repair in (str, partial(_TRAILING_COMMA.sub, r"\1"), html.unescape):
        try:
            # Not strict: control characters inside strings are common.
            return json.loads(repair(text), strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _list_nodes(value: object) -> Iterator[Mapping[str, Any]]:
    """Iterate over the objects that may describe the page, outer ones first."""
    waiting = deque([value])
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.popleft()
        if isinstance(node, dict):
            yield node
            waiting += [node[name] for name in _INNER if name in node]
        elif isinstance(node, list):
            waiting += node


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The properties of a page; None where it does not state them. `language` is ISO 639."""

    title: str | None
    published: datetime | None
    site: str | None
    language: str | None
    modified: datetime | None = None  # when it was last changed, by its own account
    shared_titles: tuple[str, ...] = ()  # for networks and search engines, the best first
    own_title: str | None = None  # of the window
    headings: tuple[str, ...] = ()
    description: str | None = None
    refresh: str | None = None  # the address that the page leads on to by itself
    text_length: int = 0  # characters outside tags and scripts, roughly


def read_page(body: bytes, content_type: str | None, *, now: datetime) -> Page:
    """Read an HTML page. `content_type` is the value of that header.

    Never raises, whatever the bytes are; takes time linear in their number. Dates without a zone
    are taken as UTC; dates that are absurd, or more than a day after `now`, are ignored.
    """
    text = decode_page(body, content_type)
    refresh = _REFRESH.search(text, 0, _REFRESH_WITHIN)
    excerpt = read_page_excerpt(text)
    tree = LexborHTMLParser(excerpt.markup)
    meta = _read_meta_tags(tree)
    described = find_articles(excerpt.json_ld)
    shared = _list_lines(
        (*_pick_values(meta, "og:title", "twitter:title"), *list_texts_under(described, "headline"))
    )
    own_title = _find_first_value(map(_line_of_text, _list_node_texts(tree, "title")))
    headings = _list_lines(_list_node_texts(tree, "h1"))
    dates = (
        *_pick_values(meta, *_FIRST_DATES),
        *list_texts_under(described, "datePublished"),
        *_list_attribute_values(tree, "time", "datetime"),
        *_pick_values(meta, *_LAST_DATES),
    )
    changes = (*_pick_values(meta, *_MODIFIED), *list_texts_under(described, "dateModified"))
    languages = (
        *_list_attribute_values(tree, "html", "lang"),
        *_pick_values(meta, "og:locale"),
        *list_texts_under(described, "inLanguage"),
    )
    return Page(
        title=next(iter((*shared, *([own_title] if own_title else ()), *headings)), None),
        published=_find_first_value(_read_moment(date, now) for date in dates),
        site=_find_first_value(
            map(_line_of_text, _pick_values(meta, "og:site_name", "application-name"))
        ),
        modified=_find_first_value(_read_moment(date, now) for date in changes),
        language=_find_first_value(map(_read_language, languages)),
        shared_titles=shared,
        own_title=own_title,
        headings=headings,
        description=next(_pick_values(meta, "og:description"), None),
        refresh=html.unescape(refresh[1]).strip(" '\"") if refresh else None,
        text_length=excerpt.text_length,
    )


def _list_lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = map(_line_of_text, texts)
    return tuple(dict.fromkeys(line for line in lines if line))


def _read_meta_tags(tree: LexborHTMLParser) -> dict[str, str]:
    """Map the name of each <meta>, in lower case, to its first content that is not empty."""
    contents: dict[str, str] = {}
    for node in tree.css("meta"):
        attributes = node.attributes
        content = attributes.get("content") or ""
        for kind in ("property", "name", "itemprop"):
            if (name := attributes.get(kind)) and content.strip():
                contents.setdefault(name.strip().lower(), content)
    return contents


def _pick_values(meta: Mapping[str, str], *names: str) -> Iterator[str]:
    return (meta[name] for name in names if name in meta)


def _list_node_texts(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    return (node.text() for node in tree.css(selector))


def _list_attribute_values(tree: LexborHTMLParser, selector: str, name: str) -> Iterator[str]:
    return (node.attributes.get(name) or "" for node in tree.css(selector))


def _find_first_value(values: Iterable[_Value | None]) -> _Value | None:
    return next((value for value in values if value is not None), None)


def _line_of_text(text: str) -> str | None:
    """Return one line without control characters; doubly escaped entities are resolved."""
    text = _UNPRINTABLE.sub(" ", html.unescape(text[: 2 * _LONGEST_TITLE]))
    return _BLANKS.sub(" ", text).strip()[:_LONGEST_TITLE] or None


def _read_language(tag: str) -> str | None:
    match = _LANGUAGE.match(tag)
    return match[1].lower() if match else None


def _read_moment(text: str, now: datetime) -> datetime | None:
    """Read a date. One that is ahead by less than a day becomes `now`."""
    if len(text) > _LONGEST_DATE:  # email.utils takes time with the square of it
        return None
    try:
        date = text.strip()
        if date[:1].isdigit():  # 2013-02-08 04:20:27 +0000
            moment = datetime.fromisoformat(date.replace(" +", "+").replace(" -", "-"))
        else:  # Fri, 08 Feb 2013 04:20:27 GMT
            moment = parsedate_to_datetime(date)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):  # email.utils raises all of them
        return None
    if moment == _EPOCH or not _EARLIEST <= moment <= now + _AHEAD:
        return None
    return min(moment, now)

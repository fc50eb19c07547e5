"""Decodes and parses XML documents from strangers.

The text that is checked is the text that is parsed: it has one encoding, no declaration of another,
and declares no entities.
"""

import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.parsers import expat

from engine.errors import FeedUnreadable
from engine.feeds.mending import mend_link, mend_markup
from engine.messages import Message
from engine.text.clean import clean_for_display, make_storable

MAX_ENTRIES = 2_000  # the newest ones; a site's whole archive is not news
LONGEST_TITLE = 1_000
LONGEST_SUMMARY = 5_000
_MAX_TAGS = 20
_LONGEST_TAG = 100
_LONGEST_LINK = 2_000
_MARKUP_PER_TEXT = 10  # markup beyond this multiple of the longest text is cut off

_OPAQUE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(?:/?[a-zA-Z][^<>]*|!--[^<>]*--|!\[CDATA\[|![^<>]*)>")
_ELEMENT = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)\b([^<>]*)>")
_COMMENT = re.compile(r"<!--[^<>]*-->")
_SCRIPT = re.compile(r"<(script|style)\b(?:(?!</\1).)*+</\1\s*>", re.IGNORECASE | re.DOTALL)
_ELEMENT_NAMES = """
    a abbr acronym b bdi bdo big blockquote br center cite code del dfn div em font h1 h2 h3 h4 h5
    h6 hr i img ins kbd li mark nobr ol p pre q s samp small span strike strong sub sup tt u ul wbr
"""
_TEXT_ELEMENTS = frozenset(_ELEMENT_NAMES.split())
_ALONE = frozenset(("br", "hr", "img", "wbr"))
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|cite|code|em|font|i|mark|q|s|small|span|strong|sub|sup|u)\b[^<>]*>",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"\s+")
_LANGUAGE = re.compile(r"\s*([a-z]{2})(?=[-_\s]|$)", re.IGNORECASE)
_DECLARED = re.compile(rb"<\?xml\b[^>]{1,500}\bencoding\b", re.IGNORECASE)
_DECLARED_WITHIN = 2_000  # bytes: caches put blank lines and comments before the declaration
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# RSS 0.90 and 0.91 name a document type and declare nothing in it.
_HARMLESS_TYPE = re.compile(r"<!DOCTYPE\s+(?:rss|rdf:RDF|feed|opml)\b[^\[<>]*>", re.IGNORECASE)
_HTML = re.compile(r"<(?:!DOCTYPE\s+)?html\b", re.IGNORECASE)
_ROOT = re.compile(r"<[^\W\d]")
_DEEPEST = 200  # elements; HTML inside Atom nests some dozens deep
_SHARE_OF_BROKEN = 3  # text is UTF-8 even if one foreign character in this many is damaged


def plain_words(markup: str | None, longest: int = LONGEST_TITLE) -> str:
    """Return the words of `markup` in one line: no tags, entities decoded, at most `longest`.

    Takes time linear in `longest`.
    """
    text = (markup or "")[: longest * _MARKUP_PER_TEXT]
    text = _without_tags(clean_for_display(_without_tags(text)))  # markup is often escaped twice
    return _cut_text(_BLANKS.sub(" ", text).strip(), longest)


def _without_tags(text: str) -> str:
    text = _without_sections(text)
    return _TAG.sub(" ", _INLINE.sub("", _OPAQUE.sub(" ", text))) if "<" in text else text


def _without_sections(text: str) -> str:
    """Return text without the marks of CDATA, which some programs escape."""
    return text.replace("<![CDATA[", " ").replace("]]>", " ") if "<![CDATA[" in text else text


def _cut_text(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return text[: longest - 1].rsplit(" ", 1)[0] + "…"


def title_words(markup: str | None) -> str:
    """Return the words of a title in one line, with the tags that it speaks of.

    Only tags that are surely markup go: text elements that are closed, have attributes or stand
    right before a word. "How the <video> element broke" is plain, whatever the feed says about its
    type.
    """
    text = (markup or "")[: LONGEST_TITLE * _MARKUP_PER_TEXT]
    text = _drop_text_elements(clean_for_display(_drop_text_elements(text)))
    return _cut_text(_BLANKS.sub(" ", text).strip(), LONGEST_TITLE)


def _drop_text_elements(text: str) -> str:
    text = _without_sections(text)
    if "<" not in text:
        return text
    text = _SCRIPT.sub(" ", _COMMENT.sub(" ", text))
    tags = [(match[1], match[2].lower()) for match in _ELEMENT.finditer(text)]
    closed = {name for slash, name in tags if slash} & {name for slash, name in tags if not slash}

    def replace_tag(match: re.Match[str]) -> str:
        name, rest = match[2].lower(), match[3]
        is_glued = match.string[match.end() : match.end() + 1].isalnum()
        is_markup = name in closed or name in _ALONE or is_glued or "=" in rest
        if name not in _TEXT_ELEMENTS or not (is_markup or rest.strip() == "/"):
            return match[0]
        return "" if _INLINE.fullmatch(match[0]) else " "

    return _ELEMENT.sub(replace_tag, text)


def web_link(link: object, base: str) -> str | None:
    """Return `link` as an absolute http(s) address, or None if it is not one or is far too long."""
    if not isinstance(link, str) or not link.strip():
        return None
    try:
        absolute = make_storable(urljoin(base, mend_link(link))).replace("&amp;", "&")
        parts = urlsplit(absolute)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    unbroken = not _BLANKS.search(absolute) and len(absolute) <= _LONGEST_LINK
    return absolute if usable and unbroken else None


def tags_of(names: Iterable[object]) -> tuple[str, ...]:
    """Return the first distinct names among `names` that contain words."""
    words = (plain_words(name, _LONGEST_TAG) for name in names if isinstance(name, str))
    return tuple(dict.fromkeys(word for word in words if word))[:_MAX_TAGS]


def feed_language(code: object) -> str | None:
    """Return the ISO 639-1 code at the start of a code such as "en-US"."""
    match = _LANGUAGE.match(code) if isinstance(code, str) else None
    return match[1].lower() if match else None


def hash_of(*texts: str) -> str:
    """Return the SHA-256 of `texts` in hexadecimal."""
    return sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()


def markup_text(body: bytes, content_type: str | None = None) -> str:
    """Decode the bytes of a document as UTF-8 if nearly all are, otherwise as declared.

    The text is mended (engine.feeds.mending) and has no characters that XML forbids. Never raises.
    Servers and authors often declare the wrong encoding, and text in another encoding is hardly
    ever valid UTF-8.
    """
    text = _as_utf8(body)
    if text is None:
        declared = _DECLARED.search(body, 0, _DECLARED_WITHIN)
        body = body[declared.start() :] if declared else body
        headers = {"content-type": content_type} if content_type else {}
        from feedparser.encodings import (  # noqa: PLC0415 - feedparser is loaded to read a feed
            convert_to_utf8,
        )

        text = convert_to_utf8(headers, body, {}).decode("utf-8", "replace")
    return mend_markup(without_forbidden(text.lstrip("\ufeff"))).lstrip()


def without_forbidden(text: str) -> str:
    """Return `text` without the characters that no XML document may hold."""
    return _NOT_XML.sub("", text)


def _as_utf8(body: bytes) -> str | None:
    if b"\0" in body[:4] or body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x1b" in body:
        return None  # excludes UTF-16 and UTF-32; ISO 2022 switches alphabets by escape
    text = body.decode("utf-8", "replace")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return text if text.count("\ufffd") * _SHARE_OF_BROKEN <= foreign else None


def _require_harmless(text: str) -> None:
    """Raise FeedUnreadable for web pages and for documents that declare a type of their own.

    Entities can expand without end or read files, and no feed needs them.
    """
    position = 0
    while (position := text.find("<", position)) >= 0 and not _ROOT.match(text, position):
        position = _find_construct_end(text, position)
    head = text[: position if position >= 0 else len(text)]
    if "<!ENTITY" in head.upper():
        raise _refuse_markup()
    if position >= 0 and _HTML.match(text, position):
        raise _web_page()


def _find_construct_end(text: str, position: int) -> int:
    """Return the end of the construct that begins at `position`, before the root element."""
    if text.startswith("<!--", position):
        return _skip_past_end(text, "-->", position + 4)
    if text.startswith("<?", position):
        return _skip_past_end(text, "?>", position + 2)
    if not text.startswith("<!", position):
        return position + 1
    if harmless := _HARMLESS_TYPE.match(text, position):
        return harmless.end()
    raise _web_page() if _HTML.match(text, position) else _refuse_markup()


def _skip_past_end(text: str, end: str, position: int) -> int:
    index = text.find(end, position)
    if index < 0:
        raise FeedUnreadable(Message("The feed ends before it begins."))
    return index + len(end)


def _require_flat(body: bytes) -> None:
    """Raise FeedUnreadable if elements nest too deeply; feedparser takes quadratic time for them.

    Checks `body` only as far as it is well-formed.
    """
    depth = 0

    def begin(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise FeedUnreadable(Message("The elements of the feed are nested without end."))

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    with suppress(expat.ExpatError):  # the lenient parser may still read it
        parser.Parse(body, True)


def parse_markup(text: str, url: str | None = None) -> Any:
    """Return what feedparser finds in a document, which may be nothing.

    `url` is where it came from. Raises FeedUnreadable for web pages, and for documents that declare
    a type of their own, nest too deeply, or are damaged beyond reading.
    """
    _require_harmless(text)
    body = _HARMLESS_TYPE.sub("", text, count=1).encode("utf-8", "replace")
    _require_flat(body)
    from engine.feeds.elements import parse_elements  # noqa: PLC0415 - as above

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # feedparser's deprecation warnings
        try:
            return parse_elements(body, url or "")
        except MemoryError:
            raise
        except Exception as exc:  # anything that its lenient parser raises
            raise FeedUnreadable(Message("The feed is damaged beyond reading.")) from exc


def _refuse_markup() -> FeedUnreadable:
    return FeedUnreadable(Message("The feed declares XML entities or a document type of its own."))


def _web_page() -> FeedUnreadable:
    return FeedUnreadable(
        Message("This is a web page, not a feed."), fix=Message("Give the address of its feed.")
    )

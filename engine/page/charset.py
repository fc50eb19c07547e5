"""Decodes the bytes of a page."""

import codecs
import re

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_META = re.compile(rb"""<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})""", re.I)
_HEADER = re.compile(r"""charset\s*=\s*["']?([\w:.-]{1,40})""", re.I)
_META_WITHIN = 4096  # bytes
# Python also decodes punycode, UTF-7 and others that no page is written in.
_WRITTEN_IN = re.compile(r"utf-(8|16.*)|iso8859-\d+|cp125\d|koi8-[ru]|gb\w+|big5|euc_\w+|shift_jis")
# What servers call by these names is Windows-1252
# (https://encoding.spec.whatwg.org/#names-and-labels).
_LATIN = frozenset({"ascii", "iso8859-1"})


def declared_charset(content_type: str | None) -> str | None:
    """Return the encoding that a Content-Type header names, as written there."""
    found = _HEADER.search(content_type or "")
    return found[1] if found else None


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
    except UnicodeDecodeError:
        return body.decode(_declared(body, content_type), "replace")


def _declared(body: bytes, content_type: str | None) -> str:
    labels = [_HEADER.search(content_type or ""), _META.search(body[:_META_WITHIN])]
    for found in labels:
        if found and (name := _codec(found[1])):
            return name
    return "utf-8"


def _codec(label: str | bytes) -> str | None:
    text = label.decode("ascii", "replace") if isinstance(label, bytes) else label
    try:
        name = codecs.lookup(text).name
    except (LookupError, ValueError):
        return None
    if name in _LATIN:
        return "cp1252"
    return name if _WRITTEN_IN.fullmatch(name) else None

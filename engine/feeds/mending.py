"""Repairs malformed XML of feeds before it is parsed: references, ampersands, declarations."""

import html
import re
from html.entities import html5

from engine.text.address import read_host

_DECLARATION = re.compile(r"<\?xml\b[^>]{0,500}\?>")
_DECLARED_WITHIN = 2_000  # characters, behind blank lines and comments of caches
# Sections in which an ampersand is one.
_LITERAL = re.compile(r"(<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z))", re.DOTALL)
_REFERENCE = re.compile(r"&(?:#([xX][0-9a-fA-F]+|\d+);|([A-Za-z][A-Za-z0-9]{0,31});)?")
_ESCAPED_REFERENCE = re.compile(r"&(?:amp;)?#([xX][0-9a-fA-F]+|\d+);")
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_LONGEST_NUMBER = 10  # digits
_GAP = re.compile(r"\s+")
_SECOND_SCHEME = re.compile(r"^(?:https?:/*)+(?=https?:/)", re.IGNORECASE)
_HALF_SCHEME = re.compile(r"^(https?)(?::/?(?!/)|//)", re.IGNORECASE)
_INVISIBLE = "\u200b\u200e\ufeff"
# A link in quotes, in angle brackets, or in the element of HTML.
_WRAPPED = re.compile(r"(?:<a\b[^<>]*\bhref=)?[\"'“<]([^\"'”<>]+)[\"'”>].*", re.DOTALL)
_HOST = re.compile(r"(?:[a-z0-9-]{1,63}\.)+([a-z]{2,24})(?::\d{1,5})?(?=[/?#]|$)", re.IGNORECASE)
_NAMES_OF_ENDINGS = "asp aspx cfm cgi htm html jsp pdf php phtml shtml xhtml xml"
_ENDINGS_OF_FILES = frozenset(_NAMES_OF_ENDINGS.split())


def mend_markup(text: str) -> str:
    """Return the text of an XML document with references that every parser can read.

    References to characters that XML forbids go. An ampersand that begins no reference is one, and
    named characters of HTML are written out. Declarations of XML go: the text has no encoding.
    """
    head = _DECLARATION.sub("", text[:_DECLARED_WITHIN], count=1)
    parts = _LITERAL.split(head + text[_DECLARED_WITHIN:])
    parts[::2] = (_REFERENCE.sub(_mend_reference, part) for part in parts[::2])
    return _ESCAPED_REFERENCE.sub(_drop_impossible, "".join(parts))


def _mend_reference(match: re.Match[str]) -> str:
    number, name = match.groups()
    if number:
        return match[0]  # judged later, also where it is escaped
    if name in _OF_XML:
        return match[0]
    character = html5.get(f"{name};") if name else None
    return html.escape(character) if character else f"&amp;{match[0][1:]}"


def _drop_impossible(match: re.Match[str]) -> str:
    """Return a reference unless no XML document may hold its character."""
    digits, is_hexadecimal = match[1].lstrip("xX").lstrip("0"), match[1][0] in "xX"
    if len(digits) > _LONGEST_NUMBER:
        return ""
    code = int(digits or "0", 16 if is_hexadecimal else 10)
    is_allowed = code in {9, 10, 13} or 32 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF
    return match[0] if is_allowed and code not in {0xFFFE, 0xFFFF} else ""


def _drop_line_end(gap: re.Match[str]) -> str:
    return "" if any(sign in gap[0] for sign in "\t\r\n") else gap[0]


def mend_link(written: str, *, base: str = "") -> str:
    """Return a link without blanks and line ends in it, with one scheme.

    A host without a scheme is recognised by "www.", by that of `base`, or by a path behind it, as
    no ending of a file has one.
    """
    link = written.strip().strip(_INVISIBLE)
    wrapped = _WRAPPED.fullmatch(link)
    link = _GAP.sub(_drop_line_end, wrapped[1] if wrapped else link).replace(" ", "%20")
    link = _HALF_SCHEME.sub(r"\1://", _SECOND_SCHEME.sub("", link))
    return f"https://{link}" if _lacks_scheme(link, base) else link


def _lacks_scheme(link: str, base: str) -> bool:
    host = _HOST.match(link)
    if host is None or host[1].lower() in _ENDINGS_OF_FILES:
        return False
    name = host[0].lower()
    return name.startswith("www.") or "/" in link or name == read_host(base)

"""Reducing a model's output to plain text: no links, no markup, no invisible characters.

The texts that the model read may contain instructions, so its output is untrusted. It is shown on
platforms that make links not only of addresses with a scheme, but of "example.org" and "@name" too.
"""

import html
import re
import unicodedata

_LONGEST = 4000  # characters
_DOTS = ".。．｡"  # separators in host names (RFC 3490, section 3.1)

_BLOCK = re.compile(r"^[ \t]*(?:```.*|~~~.*|#{1,6} |>+ ?|[-*+•] |[-*_=]{3,}[ \t]*$)", re.MULTILINE)
_TAG = re.compile(r"<[^\s\d<>=][^<>]*>")
_LINKED = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\))")
_EMPHASIS = re.compile(r"`+|~~|\*+(?=\S)|(?<=\S)\*+|_{2,}|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")
# @name and /command, also with runs of both characters, as in an attack.
_CALL = re.compile(r"(?<![\w/@＠])[/@＠]+(?=\w)")
_MAILBOX = re.compile(r"(?<=\w)/*[@＠][/@＠]*(?=\w)")
_ADDRESS = re.compile(
    r"(?<!\S)\S*:/+\S*"
    r"|(?<!\w)(?:mailto|tel|sms|javascript|vbscript|data|file|tg|slack|magnet):\S+"
    r"|(?<!\w)www[.。．｡]\S*",
    re.IGNORECASE,
)
_HOST = re.compile(rf"(?<=\w)([{_DOTS}])(?=[^\W\d_]{{2,}})")
_BEFORE_STOP = re.compile(r" ([.,;:!?])(?=\s|$)")


def without_markup(text: str) -> str:
    """Return the first 4,000 characters as Markdown and HTML would show them, with line ends.

    Numbers in brackets stay. The result may still contain addresses: see `without_links`.
    """
    text = _seen(html.unescape(html.unescape(text[:_LONGEST])))
    text = _BLOCK.sub("", text)
    text = _LINKED.sub(_linked, _TAG.sub(" ", text))
    return _EMPHASIS.sub("", text).replace("<", " ").replace(">", " ")


def without_links(text: str) -> str:
    """Return one line in which no platform detects a link.

    Addresses are removed. Host names get a space after each dot, and names lose their @, so that
    the text reads the same but links to nothing and mentions nobody. Call this last: removing
    characters may join others into a new link.
    """
    text = _CALL.sub("", _MAILBOX.sub(" at ", _ADDRESS.sub(" ", text)))
    text = _HOST.sub(r"\1 ", _ADDRESS.sub(" ", text))
    return _BEFORE_STOP.sub(r"\1", " ".join(text.split()))


def _seen(text: str) -> str:
    """Drop invisible characters: controls, joiners, direction marks, surrogates, unassigned."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_seen_character, text))


def _seen_character(character: str) -> str:
    if character == "\n":
        return character
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category.startswith("C") else character


def _linked(found: re.Match[str]) -> str:
    """Keep the text of a link; a linked number is still a citation."""
    words = found[1]
    return f"[{words}]" if words.strip().isdigit() else words

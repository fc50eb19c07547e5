"""What a model writes, made text and nothing else: no link, no markup, nothing unseen.

Nobody knows what the model was told by the texts it read. What it writes is shown by several
platforms, which make links of more than addresses with a scheme: "example.org" and "@name" too.
"""

import html
import re
import unicodedata

_LONGEST = 4000  # characters
_DOTS = ".。．｡"  # what names of hosts may be joined with (RFC 3490, section 3.1)

_BLOCK = re.compile(r"^[ \t]*(?:```.*|~~~.*|#{1,6} |>+ ?|[-*+•] |[-*_=]{3,}[ \t]*$)", re.MULTILINE)
_TAG = re.compile(r"<[^\s\d<>=][^<>]*>")
_LINKED = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\))")
_EMPHASIS = re.compile(r"`+|~~|\*+(?=\S)|(?<=\S)\*+|_{2,}|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")
# @name and /command, which are runs of both characters where somebody tries.
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
    """Return what Markdown and HTML would show, with line ends, of the first 4,000 characters.

    Numbers in brackets stay. What is left may still hold addresses: see `without_links`.
    """
    text = _seen(html.unescape(html.unescape(text[:_LONGEST])))
    text = _BLOCK.sub("", text)
    text = _LINKED.sub(_linked, _TAG.sub(" ", text))
    return _EMPHASIS.sub("", text).replace("<", " ").replace(">", " ")


def without_links(text: str) -> str:
    """Return one line in which no platform sees a link.

    Addresses go. A name of a host is parted after its dots, and names lose their @: this says the
    same, and nobody can be called or sent anywhere. To be done last: what takes characters away
    may join others.
    """
    text = _CALL.sub("", _MAILBOX.sub(" at ", _ADDRESS.sub(" ", text)))
    text = _HOST.sub(r"\1 ", _ADDRESS.sub(" ", text))
    return _BEFORE_STOP.sub(r"\1", " ".join(text.split()))


def _seen(text: str) -> str:
    """Drop what has no shape: controls, joiners, direction marks, surrogates, unassigned."""
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
    """Keep the words of a link; a number that was made one is still a citation."""
    words = found[1]
    return f"[{words}]" if words.strip().isdigit() else words

"""The quotations of a text, and whether other texts hold them. Pure."""

import re
from collections.abc import Callable

from engine.text.clean import normalise_form

MAX_WORDS = 20
_CUTS = re.compile(r"[\[(]?(?:\.\.\.|…)[\])]?")
_SIGNS = re.compile(r"[@＠#](?=\w)")  # tweets lose them, so that nobody is called
_SCHEME = re.compile(r"\bhttps?://", re.IGNORECASE)  # and so do addresses
_SOFT = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ufffe\x02]")
_NOTE_MARK = re.compile(r"(?<=[^\s(\[])(?:\[\d{1,3}\]|\(\d{1,3}\))")  # "inhabitants.[3] It"
_LINE_END_HYPHEN = re.compile(r"(?<=\w)-\s*\n\s*(?=[a-zß-öø-ÿ])")

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)

_QUOTED = re.compile(
    r"“([^“”]+)”|«([^«»]+)»|\"([^\"]+)\"|„([^„“”]+)[“”]|(?<!\w)‘([^‘’]+(?:’\w[^‘’]*)*)’(?!\w)"
    r"|(?<!\w)'([^'\n]{2,400})'(?!\w)"
)
_OPENING_MARK = re.compile(r"[“”„«»\"]")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def normalise_quotation(text: str) -> str:
    """Return a text as it is compared: one kind of quotation mark and hyphen, single spaces, and
    no marks of notes."""
    text = _NOTE_MARK.sub("", text)
    text = _SCHEME.sub("", _SIGNS.sub("", _LINE_END_HYPHEN.sub("", _SOFT.sub("", text))))
    text = normalise_form("NFKC", text).translate(_SAME)
    return " ".join(text.casefold().split())


def stands_in(quote: str, normal_text: str) -> bool:
    """Return whether a quote stands in a text that `normal` returned, each part of it in order.

    The parts are separated by an ellipsis; each needs whole words. A stop or comma at its end,
    which style may demand, does not count.
    """
    at = 0
    parts = [
        part
        for segment in _CUTS.split(quote)
        if (part := normalise_quotation(segment).strip(" .,;:!?\"'"))
    ]
    for part in parts:
        match = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)").search(normal_text, at)
        if match is None:
            return False
        at = match.end()
    return bool(parts)


def first_words(quote: str) -> str:
    """Return at most the first MAX_WORDS words of a quote, without quotation marks around it.

    An ellipsis stands for the rest.
    """
    quote = " ".join(quote.split()).strip('"“”«»„')
    words = list(_WORD.finditer(quote))
    return quote if len(words) <= MAX_WORDS else f"{quote[: words[MAX_WORDS - 1].end()]} …"


def find_quotations(text: str) -> list[str]:
    """Return what stands between quotation marks in a text."""
    quotations = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    return [quotation for quotation in quotations if _WORD.search(quotation)]


def outside_quotations(text: str, change: Callable[[str], str]) -> str:
    """Return a text in which what stands outside quotation marks is changed."""
    parts, at = [], 0
    for match in _QUOTED.finditer(text):
        parts += [change(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join((*parts, change(text[at:])))


def without_quotations(text: str) -> str:
    """Return a text without what stands between quotation marks."""
    return _QUOTED.sub(" ", text)


def open_quotation(text: str) -> str:
    """Return what follows a quotation mark that is never closed, or "" if all are."""
    rest = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    mark = _OPENING_MARK.search(rest)
    return text[mark.end() :].strip() or text if mark else ""

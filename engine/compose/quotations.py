"""Finds words verbatim in a text, whatever its spaces, quotation marks and hyphens. Pure."""

import re
import unicodedata

MOST_WORDS = 20
_CUTS = re.compile(r"[\[(]?(?:\.\.\.|…)[\])]?")
_SIGNS = re.compile(r"[@＠#](?=\w)")  # tweets lose them, so that nobody is called
_SOFT = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ufffe\x02]")
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
_OPENING = re.compile(r"[“”„«»\"]")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def normal(text: str) -> str:
    """Return a text as it is compared: one kind of quotation mark and hyphen, single spaces."""
    text = _SIGNS.sub("", _LINE_END_HYPHEN.sub("", _SOFT.sub("", text)))
    text = unicodedata.normalize("NFKC", text).translate(_SAME)
    return " ".join(text.casefold().split())


def stands_in(quote: str, normal_text: str) -> bool:
    """Return whether a quote stands in a text that `normal` returned, each part of it in order.

    The parts are separated by an ellipsis; each needs whole words. A stop or comma at its end,
    which style may demand, does not count.
    """
    at = 0
    parts = [part for one in _CUTS.split(quote) if (part := normal(one).strip(" .,;:!?\"'"))]
    for part in parts:
        found = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)").search(normal_text, at)
        if found is None:
            return False
        at = found.end()
    return bool(parts)


def first_words(quote: str, most: int = MOST_WORDS) -> str:
    """Return at most the first `most` words of a quote, without quotation marks around it."""
    quote = " ".join(quote.split()).strip('"“”«»„')
    found = list(_WORD.finditer(quote))
    return quote if len(found) <= most else quote[: found[most - 1].end()]


def quotations(text: str) -> list[str]:
    """Return what stands between quotation marks in a text."""
    found = [next(filter(None, one.groups())) for one in _QUOTED.finditer(text)]
    return [one for one in found if _WORD.search(one)]


def open_quotation(text: str) -> str:
    """Return what follows a quotation mark that is never closed, or "" if all are."""
    rest = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    mark = _OPENING.search(rest)
    return text[mark.end() :].strip() or text if mark else ""

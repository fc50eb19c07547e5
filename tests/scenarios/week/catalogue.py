"""Finds what is said in the wrong language: sentences of the catalogue where they do not belong."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from io import BytesIO
from string import Formatter

from babel.messages.pofile import read_po

# Letters of a sentence that make it one: shorter ones are compared as whole lines.
_LETTERS = 10
_NAMES = {"en", "es"}


def misplaced(text: str, language: str) -> list[str]:
    """Return the sentences of the other language that a text holds."""
    (other,) = _NAMES - {language}
    rows = {line.strip() for line in text.splitlines()}
    short, long = _sentences(other)
    said = [pattern.pattern for piece, pattern in long if piece in text and pattern.search(text)]
    return [*(rows & short), *said]


@cache
def _sentences(language: str) -> tuple[frozenset[str], tuple[tuple[str, re.Pattern[str]], ...]]:
    """Return a language's short sentences, and the others with their longest literal piece."""
    short, long = set[str](), list[tuple[str, re.Pattern[str]]]()
    both = {one: set(_of(one)) for one in _NAMES}
    (other,) = _NAMES - {language}
    for template in both[language] - both[other]:
        pieces = [(literal, name) for literal, name, _, _ in Formatter().parse(template)]
        letters = sum(map(str.isalpha, "".join(literal for literal, _ in pieces)))
        if letters >= _LETTERS and " " in template.strip():
            pattern = "".join(
                re.escape(literal) + ("" if name is None else r"[^\n]*?")
                for literal, name in pieces
            )
            piece = max((literal for literal, _ in pieces), key=len)
            long.append((piece, re.compile(rf"(?<!\w){pattern}(?!\w)")))
        elif "{" not in template:
            short.add(template)
    return frozenset(short), tuple(long)


def _of(language: str) -> Iterator[str]:
    source = (files("bot.i18n") / "locale" / "es.po").read_bytes()
    for message in read_po(BytesIO(source), locale="es"):
        said = message.id if language == "en" else message.string
        if message.id and said:
            yield from (said,) if isinstance(said, str) else said

"""Stories that each have one tweet to foretell them, and feeds that bring them.

All words are made up, so that no two stories and no two tweets have one in common. Each story has
a code that stands in its headline and in its tweet: a post is known by the codes in it.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.fakes import web

_CODE = re.compile(r"omen\d{4}")
_WORDS = 6


@dataclass(frozen=True)
class Omen:
    """One story and the tweet that foretold it."""

    code: str
    category: str
    headline: str
    tweet: str


def omens(number: int, categories: Sequence[str], seed: int) -> list[Omen]:
    """Make so many, in each category as many as in the others."""
    chance, known = random.Random(seed), set[str]()
    return [
        _omen(f"omen{index:04}", categories[index % len(categories)], chance, known)
        for index in range(number)
    ]


def _omen(code: str, category: str, chance: random.Random, known: set[str]) -> Omen:
    words = [_word(chance, known) for _ in range(_WORDS)]
    headline = " ".join([code, *words]).capitalize()
    chance.shuffle(words)
    return Omen(code, category, headline, " ".join([*words, code]))


def _word(chance: random.Random, known: set[str]) -> str:
    while True:
        word = "".join(chance.choice("bdfgklmnprtvz") + chance.choice("aou") for _ in range(4))
        if word not in known:
            known.add(word)
            return word


def codes(text: str | bytes) -> tuple[str, ...]:
    """Return the codes in a text, each once, sorted."""
    written = text.decode(errors="replace") if isinstance(text, bytes) else text
    return tuple(sorted(set(_CODE.findall(written.lower()))))


def path(category: str) -> str:
    """Return where the feed of a category is served."""
    return f"/{category}.xml"


def feed(category: str, published: Iterable[Omen]) -> web.Answer:
    """Return the feed of a category: something of no note, then its stories."""
    dull = "Nothing of note has happened in the village today"
    told = [one.headline for one in published if one.category == category]
    links = f"https://news.example/{category}/"
    return web.feed(dull, *told, title=f"The {category} paper", links=links)

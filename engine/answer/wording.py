"""Locating the words that a text was found by, precisely enough to choose excerpts and quotes.

Only the database knows the lexemes of a word in each language. For choosing what to show of a text
that has already been found, comparing the first letters of words is enough.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from engine.answer.types import Passage
from engine.text.snippet import Excerpt, Spot, window, words

_BEGINNING = 5  # letters that forms of one word share
_MOST_MATCHES = 200  # considered for choosing a window
_LONGEST_READ = 20_000  # characters, as in engine.text.snippet


@dataclass(frozen=True, slots=True)
class Wording:
    """The words that passages were found by: their beginnings, with the weight of each."""

    worth: Mapping[str, float]

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Self:
        """Take the matched words of all hits; a word in fewer of them has more weight."""
        held = [{one for word in p.hit.matched for one in _beginnings(word)} for p in passages]
        known = {one for each in held for one in each}
        return cls(
            {
                one: math.log(1 + len(passages) / sum(one in each for each in held))
                for one in sorted(known)
            }
        )

    def score(self, text: str) -> float:
        """Return the sum of the weights of the distinct words in a text."""
        found = {_beginning(spot.word) for spot in words(text)}
        return math.fsum(worth for word, worth in self.worth.items() if word in found)

    def window(self, text: str, radius: int) -> Excerpt:
        """Return at most `radius` characters on either side of the best match."""
        text = text[:_LONGEST_READ]
        return window(text, list(self._matches(text))[:_MOST_MATCHES], radius)

    def _matches(self, text: str) -> Iterable[tuple[Spot, float]]:
        for spot in words(text):
            if worth := self.worth.get(_beginning(spot.word)):
                yield spot, worth


def _beginnings(matched: str) -> Iterable[str]:
    """Return the beginnings of a matched term, which may be "word as written → replacement"."""
    return (_beginning(spot.word) for spot in words(matched.rpartition("→")[2]))


def _beginning(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(one for one in apart if not unicodedata.combining(one))[:_BEGINNING]

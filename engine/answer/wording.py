"""Which words of a text are those that it was found by, near enough to show and to quote it.

The database alone knows what a word becomes in each language. To choose what is shown of a text
that was found already, the first letters of a word will do.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from engine.answer.types import Passage
from engine.text.snippet import Excerpt, Spot, window, words

_BEGINNING = 5  # letters by which forms of one word are the same
_MOST_MATCHES = 200  # that a window is chosen by
_LONGEST_READ = 20_000  # characters, as in engine.text.snippet


@dataclass(frozen=True, slots=True)
class Wording:
    """The words that passages were found by: their beginnings, with what each is worth."""

    worth: Mapping[str, float]

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Self:
        """Take the matched words of all hits; what fewer of them hold is worth more."""
        held = [{one for word in p.hit.matched for one in _beginnings(word)} for p in passages]
        known = {one for each in held for one in each}
        return cls(
            {
                one: math.log(1 + len(passages) / sum(one in each for each in held))
                for one in sorted(known)
            }
        )

    def score(self, text: str) -> float:
        """Return what the distinct words in a text are worth."""
        found = {_beginning(spot.word) for spot in words(text)}
        return math.fsum(worth for word, worth in self.worth.items() if word in found)

    def window(self, text: str, radius: int) -> Excerpt:
        """Return at most `radius` characters on either side of where most is said."""
        text = text[:_LONGEST_READ]
        return window(text, list(self._matches(text))[:_MOST_MATCHES], radius)

    def _matches(self, text: str) -> Iterable[tuple[Spot, float]]:
        for spot in words(text):
            if worth := self.worth.get(_beginning(spot.word)):
                yield spot, worth


def _beginnings(matched: str) -> Iterable[str]:
    """Return the beginnings of a matched term, which may be "what is written → what stood in"."""
    return (_beginning(spot.word) for spot in words(matched.rpartition("→")[2]))


def _beginning(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(one for one in apart if not unicodedata.combining(one))[:_BEGINNING]

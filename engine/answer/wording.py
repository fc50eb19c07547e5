"""Locating the words that a text was found by, precisely enough to choose excerpts and quotes.

Only the database knows the lexemes of a word in each language. For choosing what to show of a text
that has already been found, comparing the first letters of words is enough.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from engine.answer.types import CitedAnswer, CitedSource, Passage
from engine.text.snippet import Excerpt, Spot, window, words

_BEGINNING = 5  # letters that forms of one word share
_MOST_MATCHES = 200  # considered for choosing a window
_CUT = "…"
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

    @classmethod
    def of_claims(cls, claims: Sequence[str], text: str) -> Self:
        """Take the words of the claims that a text supports; the rarer in it, the more weight."""
        said = Counter(_beginning(spot.word) for spot in words(text[:_LONGEST_READ]))
        spoken = {_beginning(spot.word) for claim in claims for spot in words(claim)}
        return cls({one: 1 / said[one] for one in sorted(spoken) if said[one]})

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


def cited_excerpt(source: CitedSource, answer: CitedAnswer, *, longest: int) -> str:
    """Return at most `longest` characters of a source, around what the answer cites it for."""
    text = source.passage.hit.candidate.text
    if len(text) <= longest:
        return text
    claims = [one.text for one in answer.sentences if source.number in one.sources]
    excerpt = Wording.of_claims(claims, text).window(text, longest // 2 - len(_CUT))
    before, after = (_CUT if cut else "" for cut in (excerpt.before, excerpt.after))
    return f"{before}{excerpt.text.strip()}{after}"


def _beginnings(matched: str) -> Iterable[str]:
    """Return the beginnings of a matched term, which may be "word as written → replacement"."""
    return (_beginning(spot.word) for spot in words(matched.rpartition("→")[2]))


def _beginning(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(one for one in apart if not unicodedata.combining(one))[:_BEGINNING]

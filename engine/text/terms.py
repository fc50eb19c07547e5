"""From the lexemes that each language makes of words to the terms that are looked for.

Headlines and queries are read alike: a word that several languages read is one term with several
lexemes, so that its rarity is that of the word and not that of one language's stem.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.types import Term

# A word of fewer letters has neighbours by chance.
_SHORTEST_MISSPELT = 5
# A text of many unknown words is in another language, which has no neighbours here.
_MOST_MISSPELT = 8
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One lexeme that one language makes of a word or phrase, with the corpus' figures for it."""

    unit: int  # index into the texts that were read
    language: str
    lexeme: str
    position: int  # counts the words of the text ("state-run" makes three), stop words too
    document_frequency: int
    max_tf: int


@dataclass(frozen=True, slots=True)
class Slot:
    """What all languages make of one position of a unit."""

    place: int  # in the order in which units are asked for
    fresh: Mapping[str, Reading]  # lexemes that no slot before has brought
    lexemes: Mapping[str, Reading]

    @property
    def known(self) -> "Slot":
        """The same with the fresh lexemes that some document holds, where there are any."""
        known = {name: r for name, r in self.fresh.items() if r.document_frequency}
        return replace(self, fresh=known or self.fresh)

    def term(self, word: str, documents: int, *, weight: float = 1.0) -> Term:
        """Return the term of the fresh lexemes; all lexemes tell how rare it is."""
        frequency = sum(r.document_frequency for r in self.lexemes.values())
        return Term(
            word=word,
            lexemes=tuple(self.fresh),
            document_frequency=min(documents, frequency),
            max_tf=max(r.max_tf for r in self.fresh.values()),
            weight=weight,
        )


def slots(readings: Iterable[Reading], order: Iterable[int]) -> Iterator[Slot]:
    """Yield the slots of the units of `order`, one after the other; some have nothing fresh."""
    read: dict[int, dict[int, dict[str, Reading]]] = defaultdict(lambda: defaultdict(dict))
    for one in sorted(readings, key=lambda one: one.language):
        read[one.unit][one.position].setdefault(one.lexeme, one)
    seen: set[str] = set()
    for place, unit in enumerate(order):
        for _, lexemes in sorted(read[unit].items()):
            yield Slot(place, {name: r for name, r in lexemes.items() if name not in seen}, lexemes)
            seen |= set(lexemes)


def headline_terms(
    words: Sequence[str], languages: Sequence[str], readings: Iterable[Reading], documents: int
) -> list[Term]:
    """Return the terms of a headline in the order of its words. `readings` are of `words`.

    Words that the headline's own language drops as stop words are dropped in all.
    """
    kept = _without_stop_words(len(words), languages, _first_places(readings))
    # A lexeme that an earlier word brought already may leave one that only this word brings:
    # "nación nacional" is one stem in English and two in Spanish.
    return [
        slot.known.term(_EDGES.sub("", words[slot.place]) or words[slot.place], documents)
        for slot in slots(kept, range(len(words)))
        if len(slot.fresh) == len(slot.lexemes)
        or any(one.document_frequency for one in slot.fresh.values())
    ]


def misspelt(terms: Sequence[Term]) -> list[Term]:
    """Return the terms whose neighbours are worth a look: the first few long unknown words."""
    return [term for term in terms if _may_be_misspelt(term)][:_MOST_MISSPELT]


def without_repeats(terms: Sequence[Term]) -> list[Term]:
    """Drop neighbours that the headline names itself or that stand for two unknown words."""
    seen = {name for term in terms if term.neighbour_of is None for name in term.lexemes}
    kept = []
    for term in terms:
        if term.neighbour_of is None or not seen & set(term.lexemes):
            kept.append(term)
        seen |= set(term.lexemes)
    return kept


def _may_be_misspelt(term: Term) -> bool:
    unknown = not term.document_frequency
    return unknown and len(term.word) >= _SHORTEST_MISSPELT and term.word.isalpha()


def _first_places(readings: Iterable[Reading]) -> list[Reading]:
    """Leave out a lexeme where its word has said it before: "bye-bye"."""
    first: dict[tuple[int, str, str], Reading] = {}
    for one in sorted(readings, key=lambda one: one.position):
        first.setdefault((one.unit, one.language, one.lexeme), one)
    return list(first.values())


def _without_stop_words(
    words: int, languages: Sequence[str], readings: Sequence[Reading]
) -> Sequence[Reading]:
    """Drop what is a stop word in the language that drops most of the headline's words."""
    if len(languages) < 2:
        return readings
    made = Counter(language for language, _ in {(r.language, r.unit) for r in readings})
    by_kept = sorted((made[language], language) for language in languages)
    if by_kept[0][0] == by_kept[1][0] or by_kept[0][0] == words:
        return readings
    own = by_kept[0][1]
    telling = {r.unit for r in readings if r.language == own}
    return [r for r in readings if r.unit in telling]

"""From the lexemes that each language makes of a headline's words to the query's terms."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.types import Term


@dataclass(frozen=True, slots=True)
class WordReading:
    """One lexeme that one language makes of one word, with the corpus' figures for it."""

    word: int  # index into the words
    language: str
    lexeme: str
    position: int  # orders the lexemes of one word ("state-run" makes three)
    document_frequency: int
    max_tf: int


def read_terms(
    words: Sequence[str], languages: Sequence[str], readings: Iterable[WordReading], documents: int
) -> list[Term]:
    """Return the terms of a headline in the order of its words.

    A word read in several languages is one term with several lexemes, so that its rarity is
    that of the word and not that of one language's stem. Words that the headline's own
    language drops as stop words are dropped in all.
    """
    readings = list(readings)
    kept = _without_stop_words(len(words), languages, readings)
    slots: dict[tuple[int, int], dict[str, WordReading]] = defaultdict(dict)
    for reading in sorted(kept, key=lambda r: (r.word, r.language, r.position)):
        slots[(reading.word, reading.position)].setdefault(reading.lexeme, reading)
    terms: list[Term] = []
    seen: set[str] = set()
    for (word, _), lexemes in sorted(slots.items(), key=lambda item: item[0]):
        fresh = {name: r for name, r in lexemes.items() if name not in seen}
        # A lexeme that an earlier word brought already may leave one that only this word brings:
        # "nación nacional" is one stem in English and two in Spanish.
        if len(fresh) == len(lexemes) or any(r.document_frequency for r in fresh.values()):
            terms.append(_term(words[word], fresh, lexemes, documents))
        seen |= set(lexemes)
    return terms


def _without_stop_words(
    words: int, languages: Sequence[str], readings: Sequence[WordReading]
) -> list[WordReading]:
    """Drop what is a stop word in the language that drops most of the headline's words."""
    if len(languages) < 2:
        return list(readings)
    made = Counter(language for language, _ in {(r.language, r.word) for r in readings})
    by_kept = sorted((made[language], language) for language in languages)
    if by_kept[0][0] == by_kept[1][0] or by_kept[0][0] == words:
        return list(readings)
    own = by_kept[0][1]
    telling = {r.word for r in readings if r.language == own}
    return [r for r in readings if r.word in telling]


def _term(
    word: str, fresh: Mapping[str, WordReading], lexemes: Mapping[str, WordReading], documents: int
) -> Term:
    """Make a term of the `fresh` ones of a word's lexemes; all of them tell how rare it is."""
    known = {name: r for name, r in fresh.items() if r.document_frequency} or fresh
    return Term(
        word=word,
        lexemes=tuple(known),
        document_frequency=min(documents, sum(r.document_frequency for r in lexemes.values())),
        max_tf=max(r.max_tf for r in known.values()),
    )

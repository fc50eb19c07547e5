"""The presentation of each hit: its excerpt and its voice terms."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from engine.ports import Reads
from engine.query.types import FindHit, Found
from engine.text.clean import searchable
from engine.text.snippet import (
    RADIUS,
    Excerpt,
    Known,
    Spot,
    may_match,
    searched_words,
    voice_terms,
    window,
    words,
)
from engine.text.terms import Reading
from engine.types import Corpus

SHORT = 280  # characters; texts up to this length are always shown whole


async def presented(index: Reads, corpus: Corpus, found: Found, *, voice: bool) -> Found:
    """Return the hits with excerpts and, with `voice`, voice terms.

    Queries the database for the words of texts that may have to be cut, and for those of excerpts
    that need voice terms. Raises the errors of the index.
    """
    radius = RADIUS[corpus.kind]
    long = [hit for hit in found.hits if len(_text(hit)) > SHORT]
    near = {word for hit in long for word in _near(hit)}
    known = await _known(index, corpus, near)
    hits = [replace(hit, excerpt=_excerpt(hit, radius, known)) for hit in found.hits]
    if voice:
        spoken = {spot.word for hit in hits for spot in words(_shown(hit))}
        known |= await _known(index, corpus, spoken - known.keys())
        documents = found.counts.corpus
        hits = [
            replace(hit, voice_terms=voice_terms(_shown(hit), known, documents)) for hit in hits
        ]
    return replace(found, hits=tuple(hits))


def _text(hit: FindHit) -> str:
    return hit.document.candidate.text


def _shown(hit: FindHit) -> str:
    return hit.excerpt.text if hit.excerpt else _text(hit)


def _near(hit: FindHit) -> Iterable[str]:
    """Return the words of a hit that may be its matches."""
    lexemes = {lexeme for match in hit.matched for lexeme in match.lexemes}
    distinct = {spot.word for spot in searched_words(_text(hit))}
    return (word for word in distinct if may_match(word, lexemes, _folded))


def _excerpt(hit: FindHit, radius: int | None, known: Mapping[str, Known]) -> Excerpt:
    worth = {lexeme: match.score / match.count for match in hit.matched for lexeme in match.lexemes}
    matches: list[tuple[Spot, float]] = []
    for spot in searched_words(_text(hit)):
        lexemes = known[spot.word].lexemes if spot.word in known else ()
        if value := max((worth.get(lexeme, 0.0) for lexeme in lexemes), default=0.0):
            matches.append((spot, value))
    return window(_text(hit), matches, radius)


async def _known(index: Reads, corpus: Corpus, found: Iterable[str]) -> dict[str, Known]:
    """Return the corpus' figures for words, without those that have no lexeme in any language."""
    asked = sorted(found)
    if not asked:
        return {}
    by_word: dict[int, list[Reading]] = defaultdict(list)
    for reading in await index.read(corpus, [searchable(word) for word in asked]):
        by_word[reading.unit].append(reading)
    languages = set(corpus.read_in)
    return {
        asked[unit]: Known(
            lexemes=tuple(dict.fromkeys(one.lexeme for one in readings)),
            document_frequency=max(one.document_frequency for one in readings),
            telling={one.language for one in readings} == languages,
        )
        for unit, readings in by_word.items()
    }


def _folded(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))

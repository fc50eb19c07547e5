"""Searches headlines with the aliases of their words; implements engine.ports.SearchIndex."""

from collections.abc import Iterable
from dataclasses import replace

from db.pool import Database
from db.search.lexical import LexicalIndex
from db.search.readings import Readings
from db.statements import statements
from engine.glossary.aliases import Fired, fired
from engine.glossary.groups import Glossary, glossary
from engine.ranking.bm25 import Bm25
from engine.search import Term
from engine.text.clean import searchable
from engine.text.terms import headline_terms, without_repeats
from engine.types import Corpus

_NONE = Glossary()


class Glossaries:
    """The glossaries of all corpora.

    A corpus carries the version of its glossary, so that changes by other processes apply at once
    and an unchanged glossary costs nothing.
    """

    def __init__(self, database: Database, protected: Iterable[str] = ()) -> None:
        """`protected` are keys of names that stand for nothing else."""
        self._database = database
        self._protected = frozenset(protected)
        self._readings = Readings(database)
        self._sql = statements("glossary")
        self._known: dict[int, tuple[Corpus, Glossary]] = {}

    async def of(self, corpus: Corpus) -> Glossary:
        """Return the glossary that applies in a corpus."""
        if not corpus.glossary:
            return _NONE
        known = self._known.get(corpus.id)
        if known is None or _differ(known[0], corpus):
            known = corpus, await self._read(corpus)
            self._known[corpus.id] = known
        return known[1]

    async def _read(self, corpus: Corpus) -> Glossary:
        async with self._database.reading(latest=True) as reader:
            rows = await reader.fetch(self._sql["holding"], corpus.id)
            barred = await reader.fetch(self._sql["rejected_here"], corpus.id)
        if not rows:
            return _NONE
        groups = [tuple(row["terms"]) for row in rows]
        terms = [searchable(term) for group in groups for term in group]
        readings = await self._readings.read(corpus, terms)
        rejected = [(row["first"], row["second"]) for row in barred]
        return glossary(groups, readings, rejected, protected=self._protected)


def _differ(known: Corpus, corpus: Corpus) -> bool:
    return (known.glossary, known.languages) != (corpus.glossary, corpus.languages)


class AliasedSearch(LexicalIndex):
    """Searches for the aliases of a headline's words as well, at a lower weight.

    If no group applies, it behaves as LexicalIndex at no extra cost.
    """

    def __init__(
        self, database: Database, glossaries: Glossaries, bm25: Bm25 | None = None, *, weight: float
    ) -> None:
        super().__init__(database, bm25)
        self._glossaries = glossaries
        self._weight = weight

    async def terms(self, corpus: Corpus, text: str) -> list[Term]:
        """Read `text` as LexicalIndex does.

        The aliases come last; a word with an alias has no other neighbours.
        """
        words = text.split()
        readings = await self.read(corpus, words)
        terms = await self._terms(corpus, words, readings)
        known = await self._glossaries.of(corpus)
        if not known or not self._weight:
            return terms
        found = fired(words, readings, known)
        replaced = {one.written for one in found}
        kept = [term for term in terms if term.neighbour_of not in replaced]
        for one in found:
            kept += await self._alias(corpus, one)
        return without_repeats(kept)

    async def _alias(self, corpus: Corpus, one: Fired) -> list[Term]:
        """Return the words of an alias, which share its weight: ranking knows no phrases."""
        words = searchable(one.alias).split()
        readings = await self.read(corpus, words)
        terms = headline_terms(words, corpus.read_in, readings, corpus.documents)
        share = self._weight / max(1, len(terms))
        return [replace(term, weight=share, neighbour_of=one.written, alias=True) for term in terms]

"""Aliases of a headline's words: the glossaries of all corpora, and a search that uses them."""

from collections.abc import Iterable
from dataclasses import replace

from db.connection import load_statements
from db.pool import Database
from db.search.lexical import LexicalIndex
from db.search.statements import LexemeReader
from engine.glossary.groups import Glossary, MatchedAlias, build_glossary, match_aliases
from engine.search import Term
from engine.text.clean import make_searchable
from engine.text.terms import headline_terms, without_repeats
from engine.values import Corpus

_EMPTY_GLOSSARY = Glossary()


class Glossaries:
    """The glossaries of all corpora, cached.

    A corpus carries the version of its glossary, so that changes by other processes apply at once
    and an unchanged glossary costs nothing.
    """

    def __init__(self, database: Database, protected: Iterable[str] = ()) -> None:
        """`protected` are the keys of names that match exactly and have no aliases."""
        self._database = database
        self._protected = frozenset(protected)
        self._reader = LexemeReader(database)
        self._sql = load_statements("glossary")
        self._cache: dict[int, tuple[tuple[int, tuple[str, ...]], Glossary]] = {}

    async def of(self, corpus: Corpus) -> Glossary:
        """Return the glossary that applies in a corpus."""
        if not corpus.glossary:
            return _EMPTY_GLOSSARY
        entry = self._cache.get(corpus.id)
        version = (corpus.glossary, corpus.languages)
        if entry is None or entry[0] != version:
            entry = version, await self._read_glossary(corpus)
            self._cache[corpus.id] = entry
        return entry[1]

    async def _read_glossary(self, corpus: Corpus) -> Glossary:
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["holding"], corpus.id)
            rejected_rows = await connection.fetch(self._sql["rejected_here"], corpus.id)
        if not rows:
            return _EMPTY_GLOSSARY
        groups = [tuple(row["terms"]) for row in rows]
        terms = [make_searchable(term) for group in groups for term in group]
        readings = await self._reader.read(corpus, terms)
        rejected = [(row["first"], row["second"]) for row in rejected_rows]
        return build_glossary(groups, readings, rejected, protected=self._protected)


class AliasedSearch(LexicalIndex):
    """Searches for the aliases of a headline's words as well, at a lower weight.

    Without a glossary it behaves as LexicalIndex at no extra cost. In a corpus that has one, the
    words are read a second time, as they stand: for terms they are also read without hyphens and in
    other languages, but no group of the glossary is.
    """

    def __init__(self, database: Database, glossaries: Glossaries, *, weight: float) -> None:
        super().__init__(database)
        self._glossaries = glossaries
        self._weight = weight

    async def terms(self, corpus: Corpus, text: str) -> list[Term]:
        """Read `text` as LexicalIndex does.

        The aliases come last; a word with an alias has no other neighbours.
        """
        terms = await super().terms(corpus, text)
        glossary = await self._glossaries.of(corpus)
        if not glossary or not self._weight:
            return terms
        words = text.split()
        aliases = match_aliases(words, await self.read(corpus, words), glossary)
        replaced = {alias.written for alias in aliases}
        remaining = [term for term in terms if term.neighbour_of not in replaced]
        for alias in aliases:
            remaining += await self._list_alias_terms(corpus, alias)
        return without_repeats(remaining)

    async def _list_alias_terms(self, corpus: Corpus, alias: MatchedAlias) -> list[Term]:
        """Return the words of an alias. They share its weight, as ranking knows no phrases."""
        words = make_searchable(alias.alias).split()
        readings = await self.read(corpus, words)
        terms = headline_terms(words, corpus.query_languages, readings, corpus.searchable_documents)
        share = self._weight / max(1, len(terms))
        return [
            replace(term, weight=share, neighbour_of=alias.written, alias=True) for term in terms
        ]

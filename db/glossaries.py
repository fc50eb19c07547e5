"""The glossary of each corpus, kept in memory until somebody changes it."""

from db.find import DialectIndex
from db.pool import Database
from db.statements import statements
from engine.glossary import Glossary, glossary
from engine.text import searchable
from engine.types import Corpus

_NONE = Glossary()


class Glossaries:
    """Knows what the groups mean in a corpus.

    A corpus comes from the database with the version of the glossary, so that what another
    process has changed holds at once and what nobody changed costs nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._index = DialectIndex(database)
        self._sql = statements("glossary")
        self._known: dict[int, tuple[Corpus, Glossary]] = {}

    async def of(self, corpus: Corpus) -> Glossary:
        """Return the glossary that holds in a corpus."""
        if not corpus.glossary:
            return _NONE
        known = self._known.get(corpus.id)
        if known is None or _differ(known[0], corpus):
            known = corpus, await self._read(corpus)
            self._known[corpus.id] = known
        return known[1]

    async def _read(self, corpus: Corpus) -> Glossary:
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["holding"], corpus.id)
            barred = await connection.fetch(self._sql["rejected_here"], corpus.id)
        if not rows:
            return _NONE
        groups = [tuple(row["terms"]) for row in rows]
        terms = [searchable(term) for group in groups for term in group]
        readings = await self._index.read(corpus, terms)
        return glossary(groups, readings, [(row["first"], row["second"]) for row in barred])


def _differ(known: Corpus, corpus: Corpus) -> bool:
    return (known.glossary, known.languages) != (corpus.glossary, corpus.languages)

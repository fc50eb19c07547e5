"""Reads words as a corpus does; implements engine.ports.Reads for every index."""

from collections.abc import Sequence

from db.pool import Database
from db.statements import statements
from engine.ranking.bm25 import Bm25
from engine.text.terms import Reading
from engine.types import Corpus


class Readings:
    """Reads words and phrases into lexemes, with the corpus' statistics for them."""

    def __init__(self, database: Database, bm25: Bm25 | None = None) -> None:
        self._database = database
        self._bm25 = bm25 or Bm25()

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> list[Reading]:
        """Return the lexemes of normalised texts in the corpus' languages."""
        async with self._database.reading() as reader:
            rows = await reader.fetch(
                statements("search")["read"], corpus.id, texts, corpus.read_in
            )
        return [Reading(**row) for row in rows]

"""Documents that are kept for a while only."""

from datetime import datetime

from db.partitions import about_corpus
from db.pool import Database
from db.statements import statements
from engine.types import Corpus


class Retention:
    """Removes old documents; the statistics of their corpus stay exact."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget(self, corpus: Corpus, *, before: datetime) -> int:
        """Remove the documents of a corpus from before then; return how many went."""
        removed, batch_of = 0, about_corpus("retention", "forget_documents", corpus.id)
        while True:
            async with self._database.transaction() as connection:
                # As every writer of a corpus does, before any other lock.
                if not await connection.fetchrow(statements("documents")["lock"], corpus.id):
                    return removed  # dropped meanwhile
                batch = await connection.fetchval(batch_of, before)
            if not batch:
                return removed
            removed += batch

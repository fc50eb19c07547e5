"""Documents that are kept for a while only."""

from datetime import datetime

from db.pool import Database
from db.statements import statements
from engine.types import Corpus


class Retention:
    """Removes old documents; the statistics of their corpus stay exact."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("retention")

    async def forget(self, corpus: Corpus, *, before: datetime) -> int:
        """Remove the documents of a corpus from before then; return how many went."""
        removed = 0
        while True:
            async with self._database.transaction() as connection:
                # As every writer of a corpus does, before any other lock.
                await connection.fetchrow(statements("documents")["lock"], corpus.id)
                batch = await connection.fetchval(self._sql["forget_documents"], corpus.id, before)
            if not batch:
                return removed
            removed += batch

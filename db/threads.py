"""The threads of a corpus, newest first, and one thread in order."""

from collections.abc import Sequence

from db.partitions import about_corpus
from db.pool import Database
from engine.thread import Message, Thread
from engine.types import Corpus, Flag


class Threads:
    """Reads what belongs together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, corpus: Corpus, *, limit: int) -> Sequence[Thread]:
        """Return the threads that were written to last."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                about_corpus("threads", "list", corpus.id), corpus.id, limit
            )
        return [Thread(**dict(row)) for row in rows]

    async def read(self, corpus: Corpus, thread: str, *, limit: int) -> Sequence[Message]:
        """Return the first messages of a thread, oldest first; none when there is no such thread.

        Of the same second, what the source holds first comes first.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                about_corpus("threads", "read", corpus.id), corpus.id, thread, limit
            )
        return [Message(**(dict(row) | {"flags": Flag(row["flags"])})) for row in rows]

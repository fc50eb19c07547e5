"""Stores the documents of a corpus; implements engine.ports.DocumentStore."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import asyncpg

from db.connection import Connection
from db.corpus.document_rows import COLUMNS, ITEM_COLUMNS, document_rows, item_row
from db.corpus.partitions import about_corpus, partition
from db.corpus.postings import clean_postings
from db.pool import Database
from db.statements import statements
from engine.documents import Document
from engine.errors import CorpusNotFound
from engine.messages import Message
from engine.types import Corpus, Flag

# Bytes that may wait to be sent: more than any batch, and never allocated in advance.
_ROOM = 1 << 40


async def copy_records(
    connection: Connection,
    table: str,
    *,
    columns: Sequence[str],
    records: Iterable[tuple[object, ...]],
    timeout: float,  # noqa: ASYNC109 - the server's time, as the driver calls it
) -> None:
    """Copy a batch of records into a table, within `timeout` seconds of server time.

    If the buffer is full, the driver waits until the server reads on. If the server is lost
    meanwhile it would wait forever, despite its own timeout; so the buffer is never full and holds
    the whole batch. Raises the driver's errors.
    """
    transport = connection._transport  # type: ignore[union-attr]  # the driver lends it in no other way
    transport.set_write_buffer_limits(high=_ROOM)
    await connection.copy_records_to_table(table, columns=columns, records=records, timeout=timeout)


class Retention:
    """Removes old documents; the statistics of their corpus stay exact."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget(self, corpus: Corpus, *, before: datetime) -> int:
        """Remove the documents of a corpus from before `before`; return how many."""
        removed, batch_of = 0, about_corpus("retention", "forget_documents", corpus.id)
        while True:
            async with self._database.transaction() as connection:
                # As every writer of a corpus does, before any other lock.
                if not await connection.fetchrow(statements("documents")["lock"], corpus.id):
                    return removed  # the corpus was dropped meanwhile
                batch = await connection.fetchval(batch_of, before)
                if not batch:
                    items = about_corpus("retention", "forget_items", corpus.id)
                    await connection.execute(items, before)
            self._database.changed()
            if not batch:
                return removed
            removed += batch


# Seconds per batch; far above what one needs, so that only a hung server reaches it.
_BATCH_TIMEOUT = 600


class Documents:
    """Writes batches, one transaction each; triggers keep the statistics exact."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("documents")
        self._languages: frozenset[str] | None = None

    async def outdated(self, corpus: Corpus, digests: Mapping[str, int]) -> set[str]:
        """Return the external ids in `digests` that are new or have another digest."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                about_corpus("documents", "outdated", corpus.id),
                corpus.id,
                list(digests),
                list(digests.values()),
            )
        return {row["external_id"] for row in rows}

    async def upsert(self, corpus: Corpus, documents: Sequence[Document]) -> tuple[int, int]:
        """Store a batch in one transaction and return how many were (inserted, updated).

        A document in parts replaces all its earlier parts, and their vectors are removed. External
        ids must be unique within the batch. Raises CorpusNotFound if the corpus was
        dropped meanwhile.
        """
        async with self._database.transaction() as connection:
            await self._lock(connection, corpus)
            known = await self._known_languages(connection)
            await connection.execute(self._sql["stage"])
            await copy_records(
                connection,
                "staging",
                columns=COLUMNS,
                records=(row for each in documents for row in document_rows(each, corpus, known)),
                timeout=_BATCH_TIMEOUT,
            )
            new, renewed = await self._keep_items(connection, corpus, documents)
            changed = await self._fetch(connection, "update", corpus)
            await self._forget_vectors(connection, corpus, changed["parts"])
            inserted = await self._fetch(connection, "insert", corpus)
        self._database.changed()
        return inserted["whole"] + new, changed["whole"] + renewed

    async def stitch_threads(self, corpus: Corpus) -> int:
        """Add to every reply the text of the message that it answers, if from the same account.

        Returns how many documents changed. Safe to repeat: a reply is stitched again if its
        answered message changed, and nothing else is touched.
        """
        async with self._database.transaction() as connection:
            await self._lock(connection, corpus)
            stitched = await self._run(connection, "stitch", corpus, int(Flag.THREAD))
        self._database.changed()
        return stitched

    async def settle(self, corpus: Corpus) -> None:
        """Bring indexes and planner statistics up to date after a load."""
        async with self._database.connection() as connection:
            table = partition(corpus.id)
            indexes = await connection.fetch(
                "SELECT indexrelid::regclass::text AS name FROM pg_index"
                " JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam"
                " WHERE indrelid = $1::text::regclass AND amname = 'gin'",
                table,
            )
            for index in indexes:
                # Every search reads the whole pending list.
                await connection.execute(
                    "SELECT gin_clean_pending_list($1::text::regclass)",
                    index["name"],
                    timeout=_BATCH_TIMEOUT,
                )
            await connection.execute(f"ANALYZE {table}", timeout=_BATCH_TIMEOUT)
            if corpus.postings:
                await clean_postings(connection, corpus.id)
            # Each batch leaves an old version of its lexemes behind, and the search for neighbours
            # of an unknown word would read them all, fifty times slower.
            await connection.execute("VACUUM (ANALYZE) lexeme", timeout=_BATCH_TIMEOUT)

    async def _lock(self, connection: Connection, corpus: Corpus) -> None:
        """Make the writers of one corpus queue, before any of them holds another lock."""
        await connection.execute(f"SET LOCAL statement_timeout = {_BATCH_TIMEOUT * 1000}")
        row = await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_BATCH_TIMEOUT)
        if row is None:
            raise CorpusNotFound(
                Message("Corpus {name!r} was dropped meanwhile.", name=corpus.name)
            )

    async def _known_languages(self, connection: Connection) -> frozenset[str]:
        if self._languages is None:
            rows = await connection.fetch(statements("corpora")["languages"])
            self._languages = frozenset(row[0] for row in rows)
        return self._languages

    async def _keep_items(
        self, connection: Connection, corpus: Corpus, documents: Sequence[Document]
    ) -> tuple[int, int]:
        """Store the items of a batch and remove what it replaces; return (inserted, updated)."""
        items = [item_row(document, corpus) for document in documents if document.parts]
        if not items and not await connection.fetchval(self._sql["has_items"], corpus.id):
            return 0, 0
        await connection.execute(self._sql["stage_items"])
        await copy_records(
            connection,
            "staging_item",
            columns=ITEM_COLUMNS,
            records=items,
            timeout=_BATCH_TIMEOUT,
        )
        kept = await self._fetch(connection, "keep_items", corpus)
        gone = await self._fetch(connection, "forget_replaced", corpus)
        await self._forget_vectors(connection, corpus, gone["documents"])
        await self._run(connection, "forget_items", corpus)
        return kept["inserted"], kept["updated"]

    async def _forget_vectors(
        self, connection: Connection, corpus: Corpus, documents: Sequence[int] | None
    ) -> None:
        if documents:
            await connection.execute(self._sql["forget_vectors"], corpus.id, documents)

    async def _fetch(self, connection: Connection, name: str, corpus: Corpus) -> asyncpg.Record:
        statement = about_corpus("documents", name, corpus.id)
        row = await connection.fetchrow(statement, timeout=_BATCH_TIMEOUT)
        if row is None:
            raise ValueError(f"{name} returned no row")
        return row

    async def _run(
        self, connection: Connection, name: str, corpus: Corpus, *arguments: object
    ) -> int:
        statement = about_corpus("documents", name, corpus.id)
        status = await connection.execute(statement, *arguments, timeout=_BATCH_TIMEOUT)
        return int(status.rpartition(" ")[2])

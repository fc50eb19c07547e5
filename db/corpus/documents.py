"""Stores the documents of a corpus; implements engine.ports.DocumentStore."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

import asyncpg
import orjson

from db.connection import Connection, list_values, load_statements, name_partition, read_row
from db.corpus.corpora import clean_postings, find_languages, language_of
from db.corpus.placement import borrow
from db.pool import Database, Store
from engine.corpora import Document, Part, part_id
from engine.errors import CorpusNotFound
from engine.messages import Message
from engine.text.continuation import LONGEST_GAP, JoinedText, Post, join_posts
from engine.values import Corpus, Flag, Kind

_WHOLE = (
    "external_id", "text", "search_text", "created_at", "digest", "author", "title", "role",
    "lang", "language", "url", "reply_to",
    "platform", "thread_id", "attribution", "tags", "mentions", "engagement", "flags", "meta",
)  # fmt: skip
COLUMNS = (*_WHOLE, "item", "part", "heading", "page", "last_page", "dated_by")
ITEM_COLUMNS = (
    "external_id", "digest", "created_at", "title", "author", "lang", "url", "attribution",
    "platform", "pages", "parts", "page_labels",
)  # fmt: skip
_OF_THREADS = Flag.JOINED | Flag.CONTINUATION
# Bytes that may wait to be sent: more than any batch, and never allocated in advance.
_ROOM = 1 << 40
_PAGE, _ITEMS = 2_000, 20  # documents, and those in parts, of one statement
# Seconds per batch; far above what one needs, so that only a hung server reaches it.
_BATCH_TIMEOUT = 600


def document_rows(
    document: Document, corpus: Corpus, languages: frozenset[str]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a document in COLUMNS: one, or one for each of its parts."""
    if not document.parts:
        nowhere = (None, None, None, None, None)
        yield (*_as_record(document, corpus, languages), *nowhere, document.dated_by)
        return
    source = document.attribution
    for number, part in enumerate(document.parts, start=1):
        row = replace(
            document,
            external_id=part_id(document.external_id, number),
            text=part.text,
            search_text=part.search_text,
            attribution=f"{source}#page={part.page}" if source and part.page else source,
            digest=0,
            flags=document.flags | (Flag.RECOGNISED if part.recognised else Flag.NONE),
        )
        place = (document.external_id, number, part.heading, part.page, part.last_page)
        # Digests from before dates had kinds stay what they were.
        whole = (*_as_record(row, corpus, languages), *place, *filter(None, (document.dated_by,)))
        record = _as_record(replace(row, digest=_hash_row(whole)), corpus, languages)
        yield (*record, *place, document.dated_by)


def _hash_row(row: tuple[object, ...]) -> int:
    """Return a digest of a part, so that an unchanged one is not written again."""
    content = hashlib.blake2b(repr(row).encode("utf-8", "replace"), digest_size=8)
    return int.from_bytes(content.digest(), "big", signed=True)


def item_row(document: Document, corpus: Corpus) -> tuple[object, ...]:
    """Return the row of a document in parts, in ITEM_COLUMNS."""
    return list_values(
        document,
        ITEM_COLUMNS,
        author=document.author or corpus.author,
        parts=len(document.parts),
        page_labels=list(document.page_labels) or None,
    )


def _as_record(document: Document, corpus: Corpus, languages: frozenset[str]) -> tuple[object, ...]:
    return list_values(
        document,
        _WHOLE,
        author=document.author or corpus.author,
        language=language_of(document.lang, corpus.language, languages),
        thread_id=document.thread,
        meta=orjson.dumps(document.meta).decode(),
    )


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


def _list_changes(
    threads: Sequence[JoinedText], flags: Mapping[int, Flag], stored: Sequence[asyncpg.Record]
) -> list[tuple[int, int, str | None, str | None]]:
    """Return id, flags and added texts of the posts whose thread is not stored as it is.

    `flags` are those of all posts of the threads, `stored` those that belonged to a thread.
    """
    texts = {thread.first: (thread.text, thread.search_text) for thread in threads}
    marks = {part: Flag.CONTINUATION for thread in threads for part in thread.rest}
    marks |= dict.fromkeys(texts, Flag.JOINED)
    flags_by_id = dict(flags) | {row["id"]: Flag(row["flags"]) for row in stored}
    before = {row["id"]: (Flag(row["flags"]) & _OF_THREADS, row["context"]) for row in stored}
    nothing = (None, None)
    return [
        (
            post,
            int(flags_by_id[post] & ~(_OF_THREADS | Flag.THREAD) | mark),
            *texts.get(post, nothing),
        )
        for post in sorted(marks.keys() | before.keys())
        for mark in (marks.get(post, Flag.NONE),)
        if before.get(post) != (mark, texts.get(post, nothing)[0])
    ]


def _stored_document(rows: Sequence[asyncpg.Record]) -> Document:
    """Return a document from its row, or the rows of its parts."""
    row, has_parts = rows[0], "heading" in rows[0].keys()  # noqa: SIM118 - a record holds values
    values: dict[str, Any] = {
        "digest": 0,
        "thread": row["thread_id"],
        "flags": Flag(row["flags"]) & ~(Flag.THREAD | _OF_THREADS),
        "meta": orjson.loads(row["meta"]) if isinstance(row["meta"], str) else row["meta"],
    }
    if has_parts:
        values["flags"] &= ~Flag.RECOGNISED
        values |= {"text": "", "search_text": "", "page_labels": tuple(row["page_labels"] or ())}
        values["parts"] = tuple(
            read_row(Part, row, recognised=Flag.RECOGNISED in Flag(row["flags"])) for row in rows
        )
    return read_row(Document, row, **values)


class Documents(Store, sql="documents"):
    """Reads documents, and writes batches, one transaction each: triggers keep statistics exact."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._languages: frozenset[str] | None = None

    async def find_outdated(self, corpus: Corpus, digests: Mapping[str, int]) -> set[str]:
        """Return the external ids in `digests` that are new or have another digest."""
        values = corpus.id, list(digests), list(digests.values())
        rows = await self._fetch_rows("outdated", *values, corpus=corpus)
        return {row["external_id"] for row in rows}

    async def count_held(self, corpus: Corpus, documents: Sequence[Document]) -> int:
        """Return how many of these documents the corpus holds with the same text."""
        values = [each.external_id for each in documents], [each.text for each in documents]
        return int(await self._fetch_value("held", corpus.id, *values, corpus=corpus))

    async def upsert(self, corpus: Corpus, documents: Sequence[Document]) -> tuple[int, int]:
        """Store a batch in one transaction and return how many were (inserted, updated).

        A document in parts replaces all its earlier parts, and their vectors are removed. External
        ids must be unique within the batch. Raises CorpusNotFound if the corpus was
        dropped meanwhile.
        """
        async with self._database.transaction() as connection:
            await self._lock_corpus(connection, corpus)
            self._languages = self._languages or await find_languages(connection)
            languages = self._languages
            await connection.execute(self._sql["stage"])
            await copy_records(
                connection,
                "staging",
                columns=COLUMNS,
                records=(
                    row for each in documents for row in document_rows(each, corpus, languages)
                ),
                timeout=_BATCH_TIMEOUT,
            )
            ids = [each.external_id for each in documents]
            batch = await connection.fetchrow(load_statements("placement")["batch"], corpus.id, ids)
            async with borrow(connection, corpus, "in_batch", *(batch or ())):
                new, renewed = await self._keep_items(connection, corpus, documents)
                changed = await self._fetch(connection, "update", corpus)
                await self._forget_vectors(connection, corpus, changed["parts"])
                inserted = await self._fetch(connection, "insert", corpus)
        return inserted["whole"] + new, changed["whole"] + renewed

    async def renew_ids(
        self,
        corpus: Corpus,
        platform: str,
        renew: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, str | None]],
    ) -> int:
        """Give texts of a platform the ids that `renew` returns for theirs; None removes a text.

        Safe to repeat: what has its new id already is left alone. Returns how many changed.
        """
        async with self._database.transaction() as connection:
            await self._lock_corpus(connection, corpus)
            read = self._find_statement("of_platform", corpus)
            rows = await connection.fetch(read, corpus.id, platform, timeout=_BATCH_TIMEOUT)
            renewed = renew([dict(row) for row in rows])
            if not renewed:
                return 0
            await connection.execute(self._sql["stage"])
            ids = list(renewed)
            batch = await connection.fetchrow(load_statements("placement")["batch"], corpus.id, ids)
            async with borrow(connection, corpus, "in_batch", *(batch or ())):
                gone = [old for old, new in renewed.items() if new is None]
                await self._run_statement(connection, "remove", corpus, gone)
                left = {old: new for old, new in renewed.items() if new}
                old_and_new = (list(left), list(left.values()))
                await self._run_statement(connection, "rename", corpus, *old_and_new)
        return len(renewed)

    async def stitch_threads(self, corpus: Corpus) -> int:
        """Make one text of posts that go on from each other, and add to any other reply the text
        of the message that it answers, if from the same account.

        Returns how many documents changed. Safe to repeat: only what changed is written.
        """
        async with self._database.transaction() as connection:
            await self._lock_corpus(connection, corpus)
            joined = await self._join_posts(connection, corpus)
            async with borrow(connection, corpus, "unstitched", int(_OF_THREADS)):
                stitched = await self._run_statement(
                    connection, "stitch", corpus, int(Flag.THREAD), int(_OF_THREADS)
                )
        return joined + stitched

    async def _join_posts(self, connection: Connection, corpus: Corpus) -> int:
        if corpus.kind not in (Kind.TWEETS, Kind.SOCIAL):
            return 0
        statement = self._find_statement("neighbours", corpus)
        # After a first load the planner has no statistics, and would compare each post with all.
        await connection.execute("SET LOCAL enable_nestloop = off")
        rows = await connection.fetch(statement, corpus.id, LONGEST_GAP, timeout=_BATCH_TIMEOUT)
        await connection.execute("SET LOCAL enable_nestloop = on")
        pairs = ((read_row(Post, row, "b_"), read_row(Post, row)) for row in rows)
        stored = await connection.fetch(
            self._find_statement("joined", corpus),
            corpus.id,
            int(_OF_THREADS),
            timeout=_BATCH_TIMEOUT,
        )
        flags = {row[f"{side}id"]: Flag(row[f"{side}flags"]) for row in rows for side in ("b_", "")}
        changes = _list_changes(join_posts(pairs), flags, stored)
        if changes:
            ids, *_ = columns = [list(column) for column in zip(*changes, strict=True)]
            async with borrow(connection, corpus, "among", ids):
                await self._run_statement(connection, "join", corpus, *columns)
            await self._forget_vectors(connection, corpus, ids)
        return len(changes)

    async def pages(self, corpus: Corpus) -> AsyncIterator[Sequence[Document]]:
        """Yield all documents as they were stored, those in parts last, in the order of that."""
        for name, size in (("whole", _PAGE), ("in_parts", _ITEMS)):
            after = 0
            while rows := await self._fetch_rows(name, corpus.id, after, size, corpus=corpus):
                after = rows[-1]["id"]
                groups = groupby(rows, key=itemgetter("id"))
                yield [_stored_document(list(group)) for _id, group in groups]

    async def forget(self, corpus: Corpus, *, before: datetime) -> int:
        """Remove the documents from before `before`; return how many. Statistics stay exact."""
        removed, forget_batch = 0, self._find_statement("forget_documents", corpus)
        while True:
            async with self._database.transaction() as connection:
                # As every writer of a corpus does, before any other lock.
                if not await connection.fetchrow(self._sql["lock"], corpus.id):
                    return removed  # the corpus was dropped meanwhile
                async with borrow(connection, corpus, "old", before):
                    batch = await connection.fetchval(forget_batch, before)
                if not batch:
                    kept = await connection.fetchval(self._find_statement("kept_items", corpus))
                    forget_items = self._find_statement("forget_old_items", corpus)
                    await connection.execute(forget_items, before, kept)
                    return removed
            removed += batch

    async def settle(self, corpus: Corpus) -> None:
        """Bring indexes and planner statistics up to date after a load."""
        async with self._database.connection() as connection:
            table = name_partition(corpus.id)
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
            # The lists of a placed corpus are on its worker, which cleans them with the rest.
            clean = "VACUUM (ANALYZE)" if corpus.placed else "ANALYZE"
            await connection.execute(f"{clean} {table}", timeout=_BATCH_TIMEOUT)
            if corpus.postings:
                await clean_postings(connection, corpus.id)
            # Each batch leaves an old version of its lexemes behind, and the search for neighbours
            # of an unknown word would read them all, fifty times slower.
            await connection.execute("VACUUM (ANALYZE) lexeme", timeout=_BATCH_TIMEOUT)

    async def _lock_corpus(self, connection: Connection, corpus: Corpus) -> None:
        """Make the writers of one corpus queue, before any of them holds another lock."""
        await connection.execute(f"SET LOCAL statement_timeout = {_BATCH_TIMEOUT * 1000}")
        row = await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_BATCH_TIMEOUT)
        if row is None:
            raise CorpusNotFound(
                Message("Corpus {name!r} was dropped meanwhile.", name=corpus.name)
            )

    async def _keep_items(
        self, connection: Connection, corpus: Corpus, documents: Sequence[Document]
    ) -> tuple[int, int]:
        """Store the items of a batch and remove what it replaces; return (inserted, updated)."""
        items = [item_row(document, corpus) for document in documents if document.parts]
        if not items and not await connection.fetchval(self._sql["has_items"], corpus.id):
            return 0, 0
        await connection.execute(self._sql["stage_items"])
        await copy_records(
            connection, "staging_item", columns=ITEM_COLUMNS, records=items, timeout=_BATCH_TIMEOUT
        )
        counts = await self._fetch(connection, "keep_items", corpus)
        gone = await self._fetch(connection, "forget_replaced", corpus)
        await self._forget_vectors(connection, corpus, gone["documents"])
        await self._run_statement(connection, "forget_items", corpus)
        return counts["inserted"], counts["updated"]

    async def _forget_vectors(
        self, connection: Connection, corpus: Corpus, documents: Sequence[int] | None
    ) -> None:
        if documents:
            await connection.execute(self._sql["forget_vectors"], corpus.id, documents)

    async def _fetch(self, connection: Connection, name: str, corpus: Corpus) -> asyncpg.Record:
        statement = self._find_statement(name, corpus)
        row = await connection.fetchrow(statement, timeout=_BATCH_TIMEOUT)
        if row is None:
            raise ValueError(f"{name} returned no row")
        return row

    async def _run_statement(
        self, connection: Connection, name: str, corpus: Corpus, *arguments: object
    ) -> int:
        statement = self._find_statement(name, corpus)
        status = await connection.execute(statement, *arguments, timeout=_BATCH_TIMEOUT)
        return int(status.rpartition(" ")[2])

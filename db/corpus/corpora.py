"""Stores the named corpora, and keeps the postings of long texts."""

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime

import asyncpg

from db.connection import (
    Connection,
    about_corpus,
    load_statements,
    name_partition,
    postings_table,
    read_row,
    staged_table,
)
from db.lease import Lease
from db.pool import Database, Store
from engine.corpora import ALL, USUAL, ArchiveSummary, find_corpus_named, role_of_new
from engine.errors import CorpusConflict, CorpusNotFound, UsageError
from engine.messages import Message
from engine.values import Corpus, Kind

_LANGUAGES = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
PAGE = 1000  # documents per transaction: writers of the corpus wait for its end
# Tokens. Longer texts repeat most of their words, and then thresholds keep few of them unread.
LONG = 60
ALL_POSTED = 2**63 - 1  # instead of an id: every document has its postings
_READ_TOGETHER = 100  # corpora in one statement, which locks the tables of all
_TIMEOUT = 600  # seconds for one statement; only a hung server needs them
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def has_postings(kind: Kind, *, average_length: float) -> bool:
    """Return whether a corpus is to have postings: a library always, others if texts are long.

    docs/decisions/0030-postings.md says why not all. Triggers change them with the documents.
    """
    return kind is Kind.LIBRARY or average_length >= LONG


async def create_postings(connection: Connection, corpus_id: int) -> None:
    """Create the table for a corpus without documents; triggers fill it from then on."""
    await connection.execute(about_corpus("postings", "create", corpus_id))
    await connection.execute(load_statements("postings")["keep_place"], corpus_id, ALL_POSTED)


async def clean_postings(connection: Connection, corpus_id: int) -> None:
    """Note which pages every transaction sees, so that searches read the index alone."""
    await connection.execute(f"VACUUM (ANALYZE) {postings_table(corpus_id)}", timeout=_TIMEOUT)


class Postings(Store, sql="postings"):
    """Stores the postings of corpora that are to have them and do not have all of them yet.

    Each page is one transaction that also stores its position, so a run may be interrupted
    anywhere, repeated, or run in several processes at once. Until the last page is stored, the
    corpus is searched without postings.
    """

    async def pages(self, corpus: Corpus) -> AsyncGenerator[int, None]:
        """Store the missing postings and yield the number of documents of each page.

        No connection is held between pages. Does nothing for a corpus that has them all, is not to
        have any, is placed elsewhere, or was dropped. Raises storage errors.
        """
        if (
            corpus.postings
            or corpus.placed
            or not has_postings(corpus.kind, average_length=corpus.average_length)
        ):
            return
        while stored := await self._store_page(corpus):
            yield stored

    async def count_differences(self, corpus: Corpus) -> int:
        """Recount the postings; return how many are missing, left over or wrong."""
        async with self._database.transaction() as connection:
            await connection.execute(f"SET LOCAL statement_timeout = {_TIMEOUT * 1000}")
            state = await connection.fetchrow(self._sql["state"], corpus.id)
            if state is None or state["postings_to"] is None:
                return 0
            recount = about_corpus("postings", "differing", corpus.id)
            return int(await connection.fetchval(recount, state["postings_to"], timeout=_TIMEOUT))

    async def _store_page(self, corpus: Corpus) -> int:
        """Store one page; after the last one complete the table and return 0."""
        async with self._database.transaction() as connection:
            place = await self._lock_place(connection, corpus)
            if place is None:
                return 0
            page = await self._fill(connection, corpus, place, PAGE)
            if page["documents"]:
                await connection.execute(self._sql["keep_place"], corpus.id, page["last"])
                return int(page["documents"])
        await self._compact(corpus)
        async with self._database.transaction() as connection:
            place = await self._lock_place(connection, corpus)
            if place is not None:
                await self._fill(connection, corpus, place, None)  # what came meanwhile
                await connection.execute(self._sql["keep_place"], corpus.id, ALL_POSTED)
        return 0

    async def _compact(self, corpus: Corpus) -> None:
        """Rebuild the index, whose pages are half empty after being filled in this order.

        Two processes that did so at once would wait for each other: the second leaves it out.
        """
        if self._database.is_pooled:  # behind a pooler, a session cannot be given the time
            return
        async with Lease(self._database, f"postings {corpus.id}") as lease:
            if not lease.is_held:
                return
            async with self._database.own_connection() as connection:
                await connection.execute("SET statement_timeout = 0")
                table = postings_table(corpus.id)
                await connection.execute(f"REINDEX TABLE CONCURRENTLY {table}", timeout=_TIMEOUT)
                await clean_postings(connection, corpus.id)

    async def _lock_place(self, connection: Connection, corpus: Corpus) -> int | None:
        """Lock the corpus and return the id to go on after, or None if nothing is missing."""
        await connection.execute(f"SET LOCAL statement_timeout = {_TIMEOUT * 1000}")
        # As every writer of a corpus does, before any other lock.
        state = await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_TIMEOUT)
        if state is None or state["postings_to"] == ALL_POSTED:
            return None
        if state["postings_to"] is None:
            await connection.execute(about_corpus("postings", "create", corpus.id))
            await connection.execute(self._sql["keep_place"], corpus.id, 0)
        return state["postings_to"] or 0

    async def _fill(
        self, connection: Connection, corpus: Corpus, after: int, limit: int | None
    ) -> asyncpg.Record:
        statement = about_corpus("postings", "fill", corpus.id)
        page = await connection.fetchrow(statement, after, limit, timeout=_TIMEOUT)
        assert page  # noqa: S101 - an aggregate has a row
        return page


def names_of(language: str) -> set[str]:
    """Return the code and the text-search language of a language given as either."""
    same = {pair for pair in _LANGUAGES.items() if language in pair}
    return {language, *(name for pair in same for name in pair)}


def language_of(code: str | None, default: str, languages: Collection[str]) -> str:
    """Return the text-search language for a document's own `code`.

    Codes are cut to their first part ("pt-BR" is "pt"); a language that the server does not support
    falls back to the corpus' `default`.
    """
    name = _LANGUAGES.get((code or "").split("-")[0].split("_")[0].lower(), default)
    return name if name in languages else default


async def add_languages(database: Database) -> list[str]:
    """Make languages usable that the server knows and the database does not; return their names.

    A newer server has them, whose tables came from an older one. Texts that were stored before
    remain indexed as they are. Raises StorageError.
    """
    async with database.transaction() as connection:
        await connection.execute(load_statements("corpora")["lock_languages"])
        return list(await connection.fetchval(load_statements("corpora")["add_languages"]))


async def find_languages(connection: Connection) -> frozenset[str]:
    """Return the text-search languages that the database knows."""
    return frozenset(
        row[0] for row in await connection.fetch(load_statements("corpora")["languages"])
    )


class Corpora(Store, sql="corpora"):
    """Reads and writes the corpus table and creates one partition per corpus.

    Corpora of other kinds than `kinds` are invisible, both by name and in lists.
    """

    def __init__(self, database: Database, *, kinds: Collection[Kind] = frozenset(Kind)) -> None:
        super().__init__(database)
        self._kinds = kinds
        self._summaries: dict[int, tuple[int, ArchiveSummary]] = {}  # with documents, by corpus

    async def get(self, name: str) -> Corpus:
        """Return the corpus called `name`. Raises CorpusNotFound."""
        return find_corpus_named(await self.list(), name)

    async def list(self) -> list[Corpus]:
        """Return all corpora, sorted by name."""
        rows = await self._fetch_rows("select", None)
        corpora = (read_row(Corpus, row) for row in rows)
        return [corpus for corpus in corpora if corpus.kind in self._kinds]

    async def summarise(self, corpus: Corpus) -> ArchiveSummary:
        """Return the years and the authors of a corpus; read anew when it holds more texts."""
        documents, summary = self._summaries.get(corpus.id, (-1, None))
        if summary is None or documents != corpus.documents:
            oldest, newest = await self.span(corpus)
            rows = await self._fetch_rows("frequent_authors", corpus=corpus)
            authors = tuple(row["author"] for row in rows)
            summary = ArchiveSummary(
                years=(oldest.year, newest.year) if oldest and newest else None,
                authors=authors if len(authors) > 1 else (),
            )
            self._summaries[corpus.id] = (corpus.documents, summary)
        return summary

    async def languages(self) -> frozenset[str]:
        """Return the text-search languages that a corpus may have."""
        async with self._database.connection() as connection:
            return await find_languages(connection)

    async def ensure(
        self,
        name: str,
        *,
        kind: Kind,
        language: str,
        author: str | None = None,
        description: str | None = None,
    ) -> Corpus:
        """Return the corpus, creating it if it is new. Raises CorpusConflict, UsageError."""
        _require_name(name)
        async with self._database.transaction() as connection:
            _require_language(language, await find_languages(connection))
            fields = (name, kind.value, language, author, role_of_new(name).value)
            created = await connection.fetchval(self._sql["insert"], *fields, description or None)
            if created is not None:
                await create_partition(connection, created)
                if has_postings(kind, average_length=0):
                    await create_postings(connection, created)
            rows = await connection.fetch(self._sql["select"], name)
        corpus = find_corpus_named([read_row(Corpus, row) for row in rows], name)
        return _require_agreement(corpus, kind=kind, language=language)

    async def change(
        self,
        name: str,
        *,
        author: str | None = None,
        url_template: str | None = None,
        description: str | None = None,
        display_name: str | None = None,
        avatar: bytes | None = None,
    ) -> Corpus:
        """Change the properties that may change later; None keeps one.

        An empty description, display name or avatar removes it. A display name is that of one
        person: where no author is known, it is the one that all documents name. Raises
        CorpusNotFound.
        """
        if display_name and not author:
            author = await self.find_author(await self.get(name))
        async with self._database.connection() as connection:
            await connection.execute(self._sql["change"], name, author, url_template, description)
            await connection.execute(self._sql["describe"], name, display_name, avatar)
        return await self.get(name)

    async def find_author(self, corpus: Corpus) -> str | None:
        """Return the author of the corpus, else the one that all documents name, or None."""
        author: str | None = corpus.author or await self._fetch_value("only_author", corpus=corpus)
        return author

    async def avatar(self, name: str) -> bytes | None:
        """Return the picture of the corpus's voice, or None."""
        picture: bytes | None = await self._fetch_value("avatar", name)
        return picture

    async def drop(self, name: str) -> int:
        """Remove the corpus and return how many documents it had. Raises CorpusNotFound."""
        await self.get(name)
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock"], name)
            if row is None:
                raise CorpusNotFound(Message("There is no corpus {name!r}.", name=name))
            await connection.execute(f"DROP TABLE {name_partition(row['id'])}")
            await connection.execute(f"DROP TABLE IF EXISTS {staged_table(row['id'])}")
            await connection.execute(f"DROP TABLE IF EXISTS {postings_table(row['id'])}")
            await connection.execute(self._sql["delete"], row["id"])
        return int(row["documents"])

    async def items(self, corpus: Corpus) -> int:
        """Return how many items the corpus holds in parts."""
        return int(await self._fetch_value("items", corpus.id, corpus=corpus))

    async def span(self, corpus: Corpus) -> tuple[datetime | None, datetime | None]:
        """Return the dates of the oldest and the newest document."""
        return (await self.spans([corpus]))[corpus.id]

    async def spans(
        self, corpora: Sequence[Corpus]
    ) -> Mapping[int, tuple[datetime | None, datetime | None]]:
        """Return the dates of the oldest and the newest document of each corpus, by its id."""
        spans = dict[int, tuple[datetime | None, datetime | None]]()
        for first in range(0, len(corpora), _READ_TOGETHER):
            together = corpora[first : first + _READ_TOGETHER]
            each = [about_corpus("corpora", "span", corpus.id) for corpus in together]
            async with self._database.connection() as connection:
                rows = await connection.fetch(" UNION ALL ".join(each))
            spans |= {row["corpus_id"]: (row["oldest"], row["newest"]) for row in rows}
        return spans

    async def names_authors(self, corpus: Corpus) -> bool:
        """Return whether any document names its author."""
        return bool(await self._fetch_value("names_authors", corpus=corpus))


async def create_partition(connection: Connection, corpus_id: int) -> None:
    """Create the table of a corpus' documents."""
    # Created separately and then attached: unlike PARTITION OF, this never waits for searches.
    table = name_partition(corpus_id)
    await connection.execute(
        f"CREATE TABLE {table} (LIKE document INCLUDING ALL EXCLUDING IDENTITY,"
        f" CHECK (corpus_id = {int(corpus_id)}));"
        f"ALTER TABLE document ATTACH PARTITION {table} FOR VALUES IN ({int(corpus_id)})"
    )


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name in (ALL, USUAL):
        raise UsageError(
            Message("{name!r} cannot name a corpus.", name=name),
            fix=Message(
                "Use lower-case letters, digits, - and _, at most 63 characters; not all or"
                " default."
            ),
        )


def _require_language(language: str, languages: Collection[str]) -> None:
    if language not in languages:
        raise UsageError(
            Message("There is no text-search language {language!r}.", language=language),
            fix=Message("Use one of: {known}.", known=", ".join(sorted(languages))),
        )


def _require_agreement(corpus: Corpus, *, kind: Kind, language: str) -> Corpus:
    if corpus.kind is kind and corpus.language == language:
        return corpus
    raise CorpusConflict(
        Message(
            "Corpus {name!r} already holds {kind} in {language}.",
            name=corpus.name,
            kind=corpus.kind.value,
            language=corpus.language,
        ),
        fix=Message("Choose another --corpus name, or drop that one first."),
    )

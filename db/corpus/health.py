"""Reports the health of the database, and an overview of corpora."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from db.connection import statements
from db.corpus.postings import Postings, about_corpus, partition
from db.pool import Database
from engine.chat import WallRule
from engine.values import Corpus, Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A headline, and the earlier text that foretold it."""

    headline: str
    until: datetime  # date of the headline
    external_id: str
    text: str
    flags: Flag
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The text before or after another one in time."""

    external_id: str
    text: str
    flags: Flag
    created_at: datetime


class Overview:
    """Counts the texts of a corpus and what they foretold.

    That is what was posted from feeds of the settings, and what was voted for and may be shown.
    """

    def __init__(self, database: Database, rule: WallRule | None = None) -> None:
        self._database = database
        rule = rule or WallRule()
        self._shown = (rule.chats, rule.trusted, rule.voters)

    async def months(self, corpus: Corpus) -> Mapping[str, int]:
        """Return the number of texts by month (UTC, "2012-03"), without empty months."""
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(about_corpus("overview", "months", corpus.id))
        return {row["month"]: row["documents"] for row in rows}

    async def leads(self, corpus: Corpus, *, limit: int) -> Sequence[Lead]:
        """Return the headlines that were foretold longest before, and the texts."""
        statement = _about_foretold("leads", corpus.id)
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(statement, corpus.name, *self._shown, limit)
        return [Lead(**(dict(row) | {"flags": Flag(row["flags"])})) for row in rows]

    async def subjects(self, corpus: Corpus, *, limit: int) -> Mapping[str, int]:
        """Return the words that most headlines were foretold by, each with its headlines."""
        statement = _about_foretold("subjects", corpus.id)
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(statement, corpus.name, *self._shown, limit)
        return {row["word"]: row["headlines"] for row in rows}

    async def foretold_by(
        self, corpus: Corpus, external_id: str, *, limit: int
    ) -> Sequence[tuple[str, datetime]]:
        """Return the headlines that a text foretold, with their dates, newest first."""
        statement = _about_foretold("foretold_by", corpus.id)
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(statement, corpus.name, *self._shown, external_id, limit)
        return [(row["headline"], row["until"]) for row in rows]

    async def neighbours(
        self, corpus: Corpus, document: int, created_at: datetime
    ) -> tuple[Neighbour | None, Neighbour | None]:
        """Return the texts before and after a text, which was created at `created_at`."""
        statement = about_corpus("overview", "neighbours", corpus.id)
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(statement, document, created_at)
        found = {
            row["later"]: Neighbour(
                external_id=row["external_id"],
                text=row["text"],
                flags=Flag(row["flags"]),
                created_at=row["created_at"],
            )
            for row in rows
        }
        return found.get(False), found.get(True)


@lru_cache(maxsize=1024)
def _about_foretold(name: str, corpus_id: int) -> str:
    """Return a statement about one corpus; {foretold} in it stands for what it foretold."""
    sql = statements("overview")
    foretold = sql["foretold"].format(voted=statements("wall")["voted"])
    return sql[name].format(document=partition(corpus_id), corpus=int(corpus_id), foretold=foretold)


EXTENSIONS = ("unaccent", "pg_trgm")

_RECOUNT_SECONDS = 600  # a large corpus is read in full


async def server_version(database: Database) -> str:
    """Return the server's version, such as "18.6"."""
    async with database.connection() as connection:
        return str(await connection.fetchval("SHOW server_version")).split()[0]


async def missing_extensions(database: Database) -> list[str]:
    """Return the required extensions that are not installed in the database."""
    async with database.connection() as connection:
        rows = await connection.fetch(statements("health")["extensions"], list(EXTENSIONS))
    found = {row["extname"] for row in rows}
    return [name for name in EXTENSIONS if name not in found]


async def role_that_cannot_store(database: Database) -> str | None:
    """Return the role of the connections if it lacks the right to store, else None."""
    async with database.connection() as connection:
        row = await connection.fetchrow(statements("health")["owner"])
    return None if row is None or row["owns"] else str(row["role"])


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedExtension:
    """An extension that the server offers: the version in use, and the one it would install."""

    installed: str | None
    available: str


async def offered_extension(database: Database, name: str) -> OfferedExtension | None:
    """Return the extension, or None if the server does not have it."""
    async with database.connection() as connection:
        row = await connection.fetchrow(statements("health")["offered"], name)
    if row is None:
        return None
    return OfferedExtension(installed=row["installed_version"], available=row["default_version"])


async def server_time(database: Database) -> datetime:
    """Return the time on the server's clock."""
    async with database.connection() as connection:
        time: datetime = await connection.fetchval("SELECT clock_timestamp()")
    return time


async def statistics_differ(database: Database, corpus: Corpus) -> str | None:
    """Recount what BM25 relies on; return how it differs from the stored figures, or None."""
    async with database.transaction() as connection:
        await connection.execute(f"SET LOCAL statement_timeout = '{_RECOUNT_SECONDS}s'")
        if not await connection.fetchval(statements("health")["there"], partition(corpus.id)):
            return None  # dropped meanwhile
        row = await connection.fetchrow(
            about_corpus("health", "recount", corpus.id), corpus.id, timeout=_RECOUNT_SECONDS
        )
    if row is None:  # dropped meanwhile
        return None
    wrong = []
    if (row["documents"], row["tokens"]) != (row["kept_documents"], row["kept_tokens"]):
        wrong.append(
            f"{row['documents']:,} documents and {row['tokens']:,} tokens,"
            f" kept as {row['kept_documents']:,} and {row['kept_tokens']:,}"
        )
    if row["lexemes"]:
        wrong.append(f"{row['lexemes']:,} lexemes with wrong figures")
    if postings := await Postings(database).count_differences(corpus):
        wrong.append(f"{postings:,} postings missing or wrong")
    if row["languages"]:
        wrong.append(f"{row['languages']:,} languages with a wrong count")
    return "; ".join(wrong) or None

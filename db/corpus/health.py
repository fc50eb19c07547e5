"""Reports the health of the database to administrators."""

from dataclasses import dataclass
from datetime import datetime

from db.corpus.partitions import about_corpus, partition
from db.corpus.postings import Postings
from db.pool import Database
from db.statements import statements
from engine.types import Corpus

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
    if postings := await Postings(database).differing(corpus):
        wrong.append(f"{postings:,} postings missing or wrong")
    if row["languages"]:
        wrong.append(f"{row['languages']:,} languages with a wrong count")
    return "; ".join(wrong) or None

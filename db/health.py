"""What an administrator wants to know of the database."""

from db.pool import Database
from db.statements import statements
from engine.types import Corpus

EXTENSIONS = ("unaccent", "pg_trgm")


async def server_version(database: Database) -> str:
    """Return the server's version, such as "18.6"."""
    async with database.connection() as connection:
        return str(await connection.fetchval("SHOW server_version")).split()[0]


async def extensions(database: Database) -> dict[str, str | None]:
    """Return the installed version of each extension that is needed, None where it is missing."""
    async with database.connection() as connection:
        rows = await connection.fetch(statements("health")["extensions"], list(EXTENSIONS))
    found = {row["extname"]: row["extversion"] for row in rows}
    return {name: found.get(name) for name in EXTENSIONS}


async def statistics_differ(database: Database, corpus: Corpus) -> str | None:
    """Recount what BM25 relies on and say what differs from the kept figures, or None."""
    async with database.connection() as connection:
        row = await connection.fetchrow(statements("health")["recount"], corpus.id)
    if row is None:
        return None
    wrong = []
    if (row["documents"], row["tokens"]) != (row["kept_documents"], row["kept_tokens"]):
        wrong.append(
            f"{row['documents']:,} documents and {row['tokens']:,} tokens,"
            f" kept as {row['kept_documents']:,} and {row['kept_tokens']:,}"
        )
    if row["lexemes"]:
        wrong.append(f"{row['lexemes']:,} lexemes with a wrong document frequency")
    return "; ".join(wrong) or None

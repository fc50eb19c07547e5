"""Connections through a pooler, such as PgBouncer in transaction mode.

Each transaction may run in another session of the server, so nothing that belongs to a session can
be relied on: settings, locks, and prepared statements unless the pooler keeps them. A pooler
refuses the settings that a connection asks for when it starts, or drops them silently; behind one
they belong to the role instead.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import asyncpg

from db.connection import Connection
from db.errors import LOST
from engine.errors import StorageOutdated
from engine.messages import Message

# Whatever ends a session's wait is up to the settings of the pool and of the pooler.
_OPTIONAL = frozenset({"application_name", "statement_timeout"})
SEARCH_PATH = "search_path"
_STATEMENT = "SELECT 'kept by the pooler?'"


@dataclass(frozen=True, slots=True)
class Pooler:
    """What is known about a pooler."""

    # Prepared statements can be used in every session: it prepares them where they are missing.
    keeps_statements: bool = False


async def is_pooled(connection: Connection) -> bool:
    """Return True if the server's process is another one than the connection was told of."""
    return bool(connection.get_server_pid() != await connection.fetchval("SELECT pg_backend_pid()"))


async def examined(connection: Connection) -> Pooler:
    """Return what a connection that prepares no statements by itself tells about the pooler.

    A pooler that keeps prepared statements gives them names of its own.
    """
    name = f"presagio_{uuid4().hex}"
    async with connection.transaction():
        await connection.prepare(_STATEMENT, name=name)
        rows = await connection.fetch(
            "SELECT name FROM pg_prepared_statements WHERE statement = $1", _STATEMENT
        )
        names = {row["name"] for row in rows}
        if name in names:
            await connection.execute(f"DEALLOCATE {name}")
    return Pooler(keeps_statements=bool(names) and name not in names)


async def give_role(connection: Connection, settings: Mapping[str, str]) -> None:
    """Make settings those of new sessions of this role in this database."""
    for name, value in settings.items():
        if name == "application_name":
            continue
        statement = await connection.fetchval(
            "SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %s = %L',"
            " current_database(), $1::text, $2::text)",
            name,
            value,
        )
        await connection.execute(statement)


async def renew(connection: Connection) -> None:
    """End the idle sessions that presagio used, and this one: new ones have the role's settings.

    They also know the tables as they are now.
    """
    await connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND usename = current_user AND state = 'idle'"
        " AND application_name ~ '^presagio [0-9]+$' AND pid <> pg_backend_pid()"
    )
    with suppress(asyncpg.OperatorInterventionError, *LOST):
        await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")


async def lacking(connection: Connection, settings: Mapping[str, str]) -> list[str]:
    """Return the names of the settings that have another value in the session."""
    names = [name for name in settings if name not in _OPTIONAL]
    rows = await connection.fetch(
        "SELECT name, current_setting(name, true) AS value FROM unnest($1::text[]) AS name", names
    )
    found = [row["name"] for row in rows if row["value"] != settings[row["name"]]]
    if await connection.fetchval("SELECT current_schema() IS NULL"):  # as pg_dump leaves a session
        found.append(SEARCH_PATH)
    return found


def refuse(names: list[str]) -> None:
    """Raise StorageOutdated if settings are lacking: searches would find other things."""
    if names:
        raise StorageOutdated(
            Message(
                "The pooler's sessions lack settings of presagio: {names}.", names=", ".join(names)
            ),
            fix=Message(
                "Run presagio init. If that does not help, write RECONNECT in the pooler's console."
            ),
        )

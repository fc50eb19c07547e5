"""Connections through a pooler, such as PgBouncer in transaction mode.

Each transaction may run in another session of the server, so nothing that belongs to a session can
be relied on: settings, locks, prepared statements. A pooler refuses the settings that a connection
asks for when it starts, or drops them silently; behind one they belong to the role instead.
"""

from collections.abc import Mapping

from db.connection import Connection
from engine.errors import StorageOutdated
from engine.messages import Message

# Whatever ends a session's wait is up to the settings of the pool and of the pooler.
_OPTIONAL = frozenset({"application_name", "statement_timeout"})


async def is_pooled(connection: Connection) -> bool:
    """Return True if the server's process is another one than the connection was told of."""
    return bool(connection.get_server_pid() != await connection.fetchval("SELECT pg_backend_pid()"))


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


async def lacking(connection: Connection, settings: Mapping[str, str]) -> list[str]:
    """Return the names of the settings that have another value in the session."""
    names = [name for name in settings if name not in _OPTIONAL]
    rows = await connection.fetch(
        "SELECT name, current_setting(name, true) AS value FROM unnest($1::text[]) AS name", names
    )
    return [row["name"] for row in rows if row["value"] != settings[row["name"]]]


def refuse(names: list[str]) -> None:
    """Raise StorageOutdated if settings are lacking: searches would find other things."""
    if names:
        raise StorageOutdated(
            Message(
                "The pooler's sessions lack settings of presagio: {names}.", names=", ".join(names)
            ),
            fix=Message("Run presagio init, then RECONNECT in the pooler's console."),
        )

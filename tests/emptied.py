"""A test's database, given back as new: emptied in a fraction of what a new clone costs.

Rows, sequences, tables that a test added and what ANALYZE found go. What else it changed is not
undone: a database whose definitions differ from the template's, or that has grown, is not worth
keeping.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

# Deleted rows leave their pages behind, which slow down whoever comes next.
_MAX_GROWTH = 2_000_000
_OTHERS_END_SECONDS = 30

_END_OTHERS = f"""
SELECT pg_terminate_backend(pid, {_OTHERS_END_SECONDS * 1000}) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

# Without triggers and foreign keys: everything goes, in any order.
_EMPTY = """
SET session_replication_role = replica;
DO $$
DECLARE name text;
BEGIN
    FOR name IN
        SELECT oid::regclass FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND relname <> ALL ('{tables}')
    LOOP
        EXECUTE format('DROP TABLE IF EXISTS %s CASCADE', name);
    END LOOP;
    FOR name IN
        SELECT oid::regclass FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
    LOOP
        EXECUTE format('DELETE FROM %s', name);
    END LOOP;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence
    WHERE pg_sequence_last_value(seqrelid) IS NOT NULL;
    DELETE FROM pg_statistic USING pg_class
    WHERE pg_class.oid = starelid AND relnamespace = 'public'::regnamespace;
    UPDATE pg_class SET reltuples = new.reltuples
    FROM (VALUES ('r', -1), ('p', -1), ('i', 0), ('I', 0)) AS new (relkind, reltuples)
    WHERE relnamespace = 'public'::regnamespace AND pg_class.relkind::text = new.relkind
    AND pg_class.reltuples <> new.reltuples;
END $$;
"""

_WRITTEN_COLUMNS = """
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""

_SEQUENCES = """
SELECT seqrelid::integer AS id, pg_sequence_last_value(seqrelid) AS last FROM pg_sequence
WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""

# What a statement other than INSERT, UPDATE and DELETE may change, as one number a catalogue.
_CATALOGUES = (
    (
        # A table that a migration has written anew counts no row, and one that never was -1.
        "oid, relname, relkind, relowner, relacl::text, reloptions::text, greatest(reltuples, 0)",
        "pg_class WHERE relnamespace = 'public'::regnamespace",
    ),
    (
        "attrelid, attname, atttypid, atttypmod, attnotnull, attidentity, atthasdef",
        "pg_attribute JOIN pg_class c ON c.oid = attrelid"
        " WHERE relnamespace = 'public'::regnamespace",
    ),
    (
        "oid, proname, prosrc, proowner",
        "pg_proc WHERE pronamespace = 'public'::regnamespace",
    ),
    ("oid, tgname, tgenabled", "pg_trigger"),
    ("oid, conname, convalidated", "pg_constraint"),
    ("indexrelid, indisvalid", "pg_index"),
    ("extname, extversion", "pg_extension"),
    ("nspname, nspacl::text", "pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'"),
    ("oid, cfgname", "pg_ts_config"),
    (
        "setconfig::text, setrole",
        "pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase"
        " WHERE datname = current_database()",
    ),
    ("datdba, datacl::text, datallowconn", "pg_database WHERE datname = current_database()"),
    ("starelid, staattnum", "pg_statistic"),
    ("oid, lomowner", "pg_largeobject_metadata"),
)
_DEFINITIONS = "SELECT ARRAY[{}]".format(
    ", ".join(
        f"(SELECT sum(hash_record_extended(({columns}), 0)) FROM {source})"
        for columns, source in _CATALOGUES
    )
)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Lend a connection of its own, outside any transaction."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@dataclass(frozen=True, slots=True)
class Pristine:
    """What tells a template from a database that a test has changed."""

    empty: str
    definitions: Sequence[object]
    size: int

    @classmethod
    async def of(cls, url: str) -> "Pristine":
        """Read the template at `url`."""
        async with connected(url) as connection:
            empty = await _write_restore(connection)
            return cls(empty, await _definitions(connection), await _size(connection))

    async def restore(self, session: asyncpg.Connection) -> bool:
        """Empty the database of a session and tell whether it is like the template again."""
        try:
            await session.execute(_END_OTHERS)
            await session.execute(self.empty)
            if await _definitions(session) != self.definitions:
                return False
            return await _size(session) < self.size + _MAX_GROWTH
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return False


async def settle(url: str) -> None:
    """Bring a database with rows of tests into the state in which its clones are given back."""
    async with connected(url) as connection:
        await connection.execute(await _write_restore(connection))


async def _write_restore(connection: asyncpg.Connection) -> str:
    """Return the statements that bring back what a database holds now."""
    tables = await connection.fetch(
        "SELECT relname, relkind = 'r' AS has_rows FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
    )
    names = [row["relname"] for row in tables]
    holders = [row["relname"] for row in tables if row["has_rows"]]
    refill = [each for name in holders if (each := await _refill(connection, name))]
    sequences = await connection.fetch(_SEQUENCES)
    refill += [f"SELECT setval({row['id']}, {row['last']})" for row in sequences]
    return _EMPTY.replace("{tables}", "{" + ",".join(names) + "}") + ";\n".join(refill)


async def _refill(connection: asyncpg.Connection, table: str) -> str:
    """Return the statement that brings back the rows of a table."""
    rows = await connection.fetchval(f"SELECT json_agg(each) FROM {table} AS each")
    if rows is None:
        return ""
    literal = await connection.fetchval("SELECT quote_literal($1)", rows)
    columns = await connection.fetchval(_WRITTEN_COLUMNS, table)
    return (
        f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE"
        f" SELECT {columns} FROM json_populate_recordset(NULL::{table}, {literal})"
    )


async def _definitions(connection: asyncpg.Connection) -> Sequence[object]:
    found: Sequence[object] = await connection.fetchval(_DEFINITIONS)
    return found


async def _size(connection: asyncpg.Connection) -> int:
    size: int = await connection.fetchval("SELECT pg_database_size(current_database())")
    return size

"""Restores a backup as a whole or not at all.

The tables are made by the program's own migrations, up to the version of the backup; from the file
come rows alone, stored by a role that may do nothing else. See docs/decisions/0051-restore.md.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg

from db.backup.archive import (
    Backup,
    Entry,
    MadeNames,
    Rows,
    SequenceValue,
    read_backup,
    reading_data,
)
from db.backup.backup import PATIENCE
from db.connection import Connection, load_statements
from db.corpus.corpora import about_corpus, create_partition
from db.migrate import (
    LOCK,
    list_migrations,
    migrate,
    select_pending,
    translate_unreleased,
)
from db.pool import Database, PoolSettings
from engine.errors import InputError, StorageOutdated
from engine.messages import Message

_MADE = re.compile(r"^CREATE (?:TABLE|VIEW|SEQUENCE|FUNCTION) (\w+)", re.MULTILINE)
_NAMED = 3  # things that are named when many are refused


async def check_backup(file: Path) -> Backup:
    """Read what a file holds.

    Raises InputError unless it is a backup of presagio, StorageOutdated if it is too new, or older
    than the last one before 0.1.0.
    """
    found = await read_backup(file)
    backup = replace(found, applied=translate_unreleased(found.applied))
    if max(backup.applied) > list_migrations()[-1].version:
        raise StorageOutdated(
            Message("{file} was written by a newer version of presagio.", file=file),
            fix=Message("Upgrade presagio on this machine."),
        )
    select_pending(list_migrations(), backup.applied)
    return backup


async def unknown_languages(database: Database) -> list[str]:
    """Return the languages of texts that the server does not know: such texts are not found."""
    async with database.connection() as connection:
        rows = await connection.fetch(load_statements("restore")["unknown_languages"])
    return [row["language"] for row in rows]


async def restore_into(
    url: str, backup: Backup, *, progress: Callable[[int], None], known_only: bool = False
) -> list[str]:
    """Replace the content of the database of `url` with the backup, in one transaction.

    Only tables of presagio are replaced. `progress` receives the number of bytes sent to the
    server. Returns the names of corpora that were on workers and are here now. Raises InputError
    for what the program does not know, which `known_only` leaves out, and storage errors; the
    database is then as it was.
    """
    database = await Database.open(url, PoolSettings(size=1))
    try:
        async with database.own_connection() as connection:
            async with connection.transaction():
                await connection.execute(_clear_statements())
                await _fill_tables(connection, backup, progress, known_only=known_only)
                await migrate(connection)
                placed = await connection.fetch(load_statements("restore")["bring_here"])
            await connection.execute("SET statement_timeout = 0; ANALYZE", timeout=PATIENCE)
    finally:
        await database.close()
    return [row["name"] for row in placed]


async def _fill_tables(
    connection: Connection, backup: Backup, progress: Callable[[int], None], *, known_only: bool
) -> None:
    """Make the tables of the backup's version and store its rows in them."""
    # Another role may have another schema of its own first.
    await connection.execute(load_statements("restore")["fix_search_path"])
    others = {row["oid"] for row in await _fetch_relations(connection)}
    await migrate(connection, version=max(backup.applied))
    tables = _Tables(
        [row for row in await _fetch_relations(connection) if row["oid"] not in others]
    )
    known = await tables.known_names(connection)
    if (foreign := backup.foreign(known)) and not known_only:
        raise _refuse_unknown(backup.file, foreign)
    async with tables.open_to_rows(connection):
        counted = _Counted(progress)
        await _store_entries(connection, backup, backup.data(known, numbered=False), counted)
        await _make_numbered(connection)
        await _store_entries(connection, backup, backup.data(known, numbered=True), counted)


class _Tables:
    """The relations that the migrations have made."""

    def __init__(self, made: Sequence[asyncpg.Record]) -> None:
        self._made = made

    async def known_names(self, connection: Connection) -> MadeNames:
        """Return the names of all that the migrations make."""
        sql = load_statements("restore")
        functions = await connection.fetch(sql["functions"])
        triggers = await connection.fetch(sql["triggers"], self._list_ids("r", "p"))
        return MadeNames(
            tables=self._list_names("r", "p"),
            views=self._list_names("v"),
            sequences=self._list_names("S"),
            functions={row["name"] for row in functions},
            triggers={row["name"] for row in triggers},
        )

    @asynccontextmanager
    async def open_to_rows(self, connection: Connection) -> AsyncIterator[None]:
        """Empty the tables, and have nothing check, change or index what the block stores.

        Indexes are built and foreign keys are checked at its end, which is faster and in no order.
        """
        tables = [name for name in self._list_names("r", "p") if name != "migration"]
        keys = await connection.fetch(
            load_statements("restore")["foreign_keys"], self._list_ids("r", "p")
        )
        indexes = [row for row in self._made if row["definition"]]
        await _execute_commands(
            connection, (f"ALTER TABLE {each} DISABLE TRIGGER USER" for each in tables)
        )
        await _execute_commands(
            connection,
            (f"ALTER TABLE {key['table']} DROP CONSTRAINT {key['name']}" for key in keys),
        )
        await _execute_commands(connection, (f"DROP INDEX {index['name']}" for index in indexes))
        await connection.execute(f"TRUNCATE {', '.join(tables)}")
        yield
        await _execute_commands(connection, (index["definition"] for index in indexes))
        await _execute_commands(
            connection,
            (
                f"ALTER TABLE {key['table']} ADD CONSTRAINT {key['name']} {key['definition']}"
                for key in keys
            ),
        )
        await _execute_commands(
            connection, (f"ALTER TABLE {each} ENABLE TRIGGER USER" for each in tables)
        )

    def _list_names(self, *kinds: str) -> list[str]:
        return [row["name"] for row in self._made if row["kind"] in kinds]

    def _list_ids(self, *kinds: str) -> list[int]:
        return [row["oid"] for row in self._made if row["kind"] in kinds]


async def _fetch_relations(connection: Connection) -> list[asyncpg.Record]:
    return await connection.fetch(load_statements("restore")["relations"])


async def _execute_commands(connection: Connection, commands: Iterable[str]) -> None:
    for command in commands:
        await connection.execute(command, timeout=PATIENCE)


async def _make_numbered(connection: Connection) -> None:
    """Make the tables of single corpora and models, for what was stored about these."""
    sql = load_statements("restore")
    for row in await connection.fetch(sql["corpora"]):
        await create_partition(connection, row["id"])
        if row["postings"]:
            await connection.execute(about_corpus("postings", "create", row["id"]))
    models = await connection.fetch(sql["models"])
    if models:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    for row in models:
        create = load_statements("embeddings")["create"]
        names = {"embedding": f"embedding_{row['id']}", "dimensions": row["dimensions"]}
        await connection.execute(create.format(**names))


async def _store_entries(
    connection: Connection, backup: Backup, entries: Sequence[Entry], counted: "_Counted"
) -> None:
    """Store the rows of tables, and set sequences."""
    names = {entry.name for entry in entries}
    async with reading_data(backup.file, entries) as data, _without_rights(connection):
        async for part in data:
            if part.name not in names:
                raise _refuse_unknown(backup.file, [part.name])
            if isinstance(part, SequenceValue):
                values = (part.name, part.value, part.is_called)
                await connection.execute(load_statements("restore")["set_sequence"], *values)
            else:
                await _store_rows(connection, backup.file, part, counted)


async def _store_rows(connection: Connection, file: Path, rows: Rows, counted: "_Counted") -> None:
    found = await connection.fetch(load_statements("restore")["columns"], rows.name)
    known = {row["name"] for row in found}
    if not known:
        raise _refuse_unknown(file, [rows.name])
    if strange := [name for name in rows.columns if name not in known]:
        raise _refuse_unknown(file, [f"{rows.name}.{name}" for name in strange])
    source = counted.count(rows.rows)
    try:
        await connection.copy_to_table(
            rows.name, source=source, columns=rows.columns, timeout=PATIENCE
        )
    except asyncpg.DataError as error:  # as where bytes of the file are other ones now
        raise InputError(
            Message("{file} is damaged: {reason}.", file=file, reason=str(error).rstrip(".")),
            fix=Message("Nothing was changed. Restore another backup."),
        ) from error


@asynccontextmanager
async def _without_rights(connection: Connection) -> AsyncIterator[None]:
    """Have a superuser store rows as a role that may do nothing else."""
    superuser = await connection.fetchval(load_statements("restore")["is_superuser"])
    if superuser:
        await connection.execute("SET LOCAL ROLE pg_write_all_data")
    yield
    if superuser:
        await connection.execute("RESET ROLE")


class _Counted:
    """Tells how many bytes of rows were sent."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress, self._sent = progress, 0

    async def count(self, rows: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for part in rows:
            yield part
            self._sent += len(part)
            self._progress(self._sent)


def _refuse_unknown(file: Path, things: Sequence[object]) -> InputError:
    named = ", ".join(map(str, things[:_NAMED]))
    others = len(things) - _NAMED
    return InputError(
        Message(
            "{file} holds what presagio does not know: {things}.",
            file=file,
            things=Message("{things} and {others} more", things=named, others=others)
            if others > 0
            else named,
        ),
        fix=Message(
            "Nothing was changed. If the database was shared with other programs, pass --known-only"
            " to leave that out."
        ),
    )


def _clear_statements() -> str:
    made = [name for migration in list_migrations() for name in _MADE.findall(migration.sql)]
    names = ", ".join(f"'{name}'" for name in ("migration", *made))
    clear = load_statements("restore")["clear"]
    return clear.replace("{names}", f"ARRAY[{names}]").replace("{lock}", str(LOCK))

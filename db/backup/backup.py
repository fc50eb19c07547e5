"""Writes backups, and restores one as a whole or not at all.

The tables are made by the program's own migrations, up to the version of the backup; from the file
come rows alone, stored by a role that may do nothing else. See docs/decisions/0051-restore.md.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
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
from db.backup.programs import environment, start_program
from db.connection import Connection, statements
from db.corpus.corpora import about_corpus, create_partition
from db.migrate import (
    LOCK,
    available,
    check,
    is_unreleased,
    migrate,
    read_applied,
    select_pending,
    translate_unreleased,
)
from db.pool import Database, PoolSettings
from engine.errors import InputError, StorageOutdated, StorageUnreachable
from engine.messages import Message

_SIGN_SECONDS = 0.2  # between two progress reports
_MEGABYTE = 1_000_000
_LARGEST = 2_000 * _MEGABYTE  # of a database that is backed up unasked: some 20 seconds
_BACKUPS = 3  # of upgrades that are kept
_UPGRADE_PATIENCE = 3600.0  # seconds for the upgrade of another process
_MADE = re.compile(r"^CREATE (?:TABLE|VIEW|SEQUENCE|FUNCTION) (\w+)", re.MULTILINE)
_PATIENCE = 24 * 3600.0  # seconds for one statement: a table of millions of rows takes long
_NAMED = 3  # things that are named when many are refused


async def dump(url: str, file: Path, *, progress: Callable[[int], None]) -> int:
    """Write the database of `url` to `file` and return its size in bytes.

    The file appears under its name only when complete, and only its owner may read it. It is a
    snapshot of one moment, even if others are writing. `progress` receives the number of bytes
    written. Raises storage errors, and InputError if the file cannot be written.
    """
    try:
        return await _dump(url, file, progress)
    except OSError as error:
        raise InputError(
            Message("{file} cannot be written: {reason}.", file=file, reason=error.strerror)
        ) from error


async def _dump(url: str, file: Path, progress: Callable[[int], None]) -> int:
    with _open_unfinished(file) as part:
        # The partitions of placed corpora, which are empty: restored, these corpora are here.
        arguments = ("--format=custom", "--no-password", "--exclude-table=staged_*")
        program_started = start_program(
            "pg_dump", *arguments, f"--file={part}", within=environment(url)
        )
        async with _hold_placed(url), program_started as program:
            ended = asyncio.create_task(program.end())
            while not (await asyncio.wait({ended}, timeout=_SIGN_SECONDS))[0]:
                progress(part.stat().st_size)
            await ended
        with part.open("rb") as whole:
            os.fsync(whole.fileno())
        size = part.stat().st_size
        part.replace(file)
    return size


@asynccontextmanager
async def _hold_placed(url: str) -> AsyncIterator[None]:
    """Have writers of placed corpora wait: a snapshot of this server holds nothing of workers."""
    sql = statements("restore")
    try:
        database = await Database.open(url, PoolSettings(size=1))
    except StorageUnreachable:  # pg_dump says what is wrong
        yield
        return
    try:
        async with database.transaction() as connection:
            if await connection.fetchval(sql["set_up"]):
                await connection.execute("SET LOCAL statement_timeout = 0")
                await connection.execute(sql["hold_placed"], timeout=_PATIENCE)
            yield
    finally:
        await database.close()


@contextmanager
def _open_unfinished(file: Path) -> Iterator[Path]:
    """Yield an empty file beside `file`, which is removed unless the block renames it."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


async def upgrade(
    database: Database, url: str, folder: Path, *, progress: Callable[[str], None]
) -> list[str]:
    """Bring the tables up to date and return the names of the migrations that ran here.

    What an older version has stored is kept in `folder` first: there is no other way back. Of
    several processes one does the work, and the others wait for it. `progress` receives sentences.
    Raises storage errors, and InputError if the backup cannot be written; nothing is changed then.
    """
    async with database.connection() as connection:
        if not await check(connection):
            return []
    async with database.own_connection() as connection:
        await connection.execute(statements("restore")["queue_upgrade"], timeout=_UPGRADE_PATIENCE)
        if missing := await check(connection):
            await _keep(connection, url, folder, len(missing), progress)
        return await database.migrate()


async def _keep(
    connection: Connection, url: str, folder: Path, missing: int, progress: Callable[[str], None]
) -> None:
    """Back up what is there, unless nothing is or it is too large."""
    sql = statements("restore")
    if not await connection.fetchval(sql["set_up"]):
        return
    version = max(await read_applied(connection))
    size = await connection.fetchval(sql["size"])
    changes = "1 change" if missing == 1 else f"{missing} changes"
    progress(f"The tables are those of an older version: bringing them up to date ({changes}).")
    if size > _LARGEST:
        progress(
            f"No backup is made before, for the database has {size // _MEGABYTE:,} MB: there is no"
            " way back to the older version."
        )
        return
    file = folder / f"before-upgrade-{version:04}.dump"
    await dump(url, file, progress=lambda _: None)
    progress(f"What was there is kept in {file}; docs/database.md tells how to return to it.")
    _drop_oldest(folder)


def _drop_oldest(folder: Path) -> None:
    kept = sorted(folder.glob("before-upgrade-*.dump"), key=lambda file: file.stat().st_mtime)
    for file in kept[:-_BACKUPS]:
        file.unlink(missing_ok=True)


async def holds_something(database: Database) -> bool:
    """Tell whether the database holds a corpus or a chat."""
    async with database.connection() as connection:
        sql = statements("restore")
        if not await connection.fetchval(sql["set_up"]):
            return False
        return bool(await connection.fetchval(sql["holds"]))


async def require_known_tables(database: Database) -> None:
    """Raise StorageOutdated if a newer version has set the database up.

    A restore would leave tables and functions that only that version knows, and the next upgrade
    would fail on them.
    """
    if not await is_set_up(database):
        return
    async with database.connection() as connection:
        applied = await read_applied(connection)
    if not is_unreleased(applied) and max(applied, default=0) > available()[-1].version:
        raise StorageOutdated(
            Message("The database was set up by a newer version of presagio."),
            fix=Message("Restore into an empty one: name it in DATABASE_URL or PRESAGIO_DATA_DIR."),
        )


async def is_set_up(database: Database) -> bool:
    """Tell whether there are tables to back up, of any version."""
    async with database.connection() as connection:
        return bool(await connection.fetchval(statements("restore")["set_up"]))


async def others_work(database: Database) -> bool:
    """Return whether presagio has other connections than the single one of `database`."""
    async with database.connection() as connection:
        return bool(await connection.fetchval(statements("restore")["others"]))


async def check_backup(file: Path) -> Backup:
    """Read what a file holds.

    Raises InputError unless it is a backup of presagio, StorageOutdated if it is too new, or older
    than the last one before 0.1.0.
    """
    found = await read_backup(file)
    backup = replace(found, applied=translate_unreleased(found.applied))
    select_pending(available(), backup.applied)
    return backup


async def unknown_languages(database: Database) -> list[str]:
    """Return the languages of texts that the server does not know: such texts are not found."""
    async with database.connection() as connection:
        rows = await connection.fetch(statements("restore")["unknown_languages"])
    return [row["language"] for row in rows]


async def restore(
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
                await _fill(connection, backup, progress, known_only=known_only)
                await migrate(connection)
                placed = await connection.fetch(statements("restore")["bring_here"])
            await connection.execute("SET statement_timeout = 0; ANALYZE", timeout=_PATIENCE)
    finally:
        await database.close()
    return [row["name"] for row in placed]


async def _fill(
    connection: Connection, backup: Backup, progress: Callable[[int], None], *, known_only: bool
) -> None:
    """Make the tables of the backup's version and store its rows in them."""
    # Another role may have another schema of its own first.
    await connection.execute(statements("restore")["fix_search_path"])
    others = {row["oid"] for row in await _relations(connection)}
    await migrate(connection, version=max(backup.applied))
    tables = _Tables([row for row in await _relations(connection) if row["oid"] not in others])
    known = await tables.known_names(connection)
    if (foreign := backup.foreign(known)) and not known_only:
        raise _refuse_unknown(backup.file, foreign)
    async with tables.open_to_rows(connection):
        counted = _Counted(progress)
        await _store(connection, backup, backup.data(known, numbered=False), counted)
        await _make_numbered(connection)
        await _store(connection, backup, backup.data(known, numbered=True), counted)


class _Tables:
    """The relations that the migrations have made."""

    def __init__(self, made: Sequence[asyncpg.Record]) -> None:
        self._made = made

    async def known_names(self, connection: Connection) -> MadeNames:
        """Return the names of all that the migrations make."""
        sql = statements("restore")
        functions = await connection.fetch(sql["functions"])
        triggers = await connection.fetch(sql["triggers"], self._ids("r", "p"))
        return MadeNames(
            tables=self._names("r", "p"),
            views=self._names("v"),
            sequences=self._names("S"),
            functions={row["name"] for row in functions},
            triggers={row["name"] for row in triggers},
        )

    @asynccontextmanager
    async def open_to_rows(self, connection: Connection) -> AsyncIterator[None]:
        """Empty the tables, and have nothing check, change or index what the block stores.

        Indexes are built and foreign keys are checked at its end, which is faster and in no order.
        """
        tables = [name for name in self._names("r", "p") if name != "migration"]
        keys = await connection.fetch(statements("restore")["foreign_keys"], self._ids("r", "p"))
        indexes = [row for row in self._made if row["definition"]]
        await _execute(connection, (f"ALTER TABLE {each} DISABLE TRIGGER USER" for each in tables))
        await _execute(
            connection,
            (f"ALTER TABLE {key['table']} DROP CONSTRAINT {key['name']}" for key in keys),
        )
        await _execute(connection, (f"DROP INDEX {index['name']}" for index in indexes))
        await connection.execute(f"TRUNCATE {', '.join(tables)}")
        yield
        await _execute(connection, (index["definition"] for index in indexes))
        await _execute(
            connection,
            (
                f"ALTER TABLE {key['table']} ADD CONSTRAINT {key['name']} {key['definition']}"
                for key in keys
            ),
        )
        await _execute(connection, (f"ALTER TABLE {each} ENABLE TRIGGER USER" for each in tables))

    def _names(self, *kinds: str) -> list[str]:
        return [row["name"] for row in self._made if row["kind"] in kinds]

    def _ids(self, *kinds: str) -> list[int]:
        return [row["oid"] for row in self._made if row["kind"] in kinds]


async def _relations(connection: Connection) -> list[asyncpg.Record]:
    return await connection.fetch(statements("restore")["relations"])


async def _execute(connection: Connection, commands: Iterable[str]) -> None:
    for command in commands:
        await connection.execute(command, timeout=_PATIENCE)


async def _make_numbered(connection: Connection) -> None:
    """Make the tables of single corpora and models, for what was stored about these."""
    sql = statements("restore")
    for row in await connection.fetch(sql["corpora"]):
        await create_partition(connection, row["id"])
        if row["postings"]:
            await connection.execute(about_corpus("postings", "create", row["id"]))
    models = await connection.fetch(sql["models"])
    if models:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    for row in models:
        create = statements("embeddings")["create"]
        names = {"embedding": f"embedding_{row['id']}", "dimensions": row["dimensions"]}
        await connection.execute(create.format(**names))


async def _store(
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
                await connection.execute(statements("restore")["set_sequence"], *values)
            else:
                await _store_rows(connection, backup.file, part, counted)


async def _store_rows(connection: Connection, file: Path, rows: Rows, counted: "_Counted") -> None:
    found = await connection.fetch(statements("restore")["columns"], rows.name)
    known = {row["name"] for row in found}
    if not known:
        raise _refuse_unknown(file, [rows.name])
    if strange := [name for name in rows.columns if name not in known]:
        raise _refuse_unknown(file, [f"{rows.name}.{name}" for name in strange])
    source = counted.count(rows.rows)
    await connection.copy_to_table(
        rows.name, source=source, columns=rows.columns, timeout=_PATIENCE
    )


@asynccontextmanager
async def _without_rights(connection: Connection) -> AsyncIterator[None]:
    """Have a superuser store rows as a role that may do nothing else."""
    superuser = await connection.fetchval(statements("restore")["is_superuser"])
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
    made = [name for migration in available() for name in _MADE.findall(migration.sql)]
    names = ", ".join(f"'{name}'" for name in ("migration", *made))
    clear = statements("restore")["clear"]
    return clear.replace("{names}", f"ARRAY[{names}]").replace("{lock}", str(LOCK))

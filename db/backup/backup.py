"""Writes backups: of the whole database on request, and of what an upgrade is about to change."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from db.backup.programs import build_environment, start_program
from db.connection import Connection, load_statements
from db.migrate import (
    check_migrations,
    is_unreleased,
    list_migrations,
    read_applied,
)
from db.pool import Database, PoolSettings
from engine.errors import InputError, StorageOutdated, StorageUnreachable
from engine.messages import Message

_SIGN_SECONDS = 0.2  # between two progress reports
_MEGABYTE = 1_000_000
_LARGEST = 2_000 * _MEGABYTE  # of a database that is backed up unasked: some 20 seconds
_BACKUPS = 3  # of upgrades that are kept
_UPGRADE_PATIENCE = 3600.0  # seconds for the upgrade of another process
PATIENCE = 24 * 3600.0  # seconds for one statement: a table of millions of rows takes long


async def dump_tables(url: str, file: Path, *, progress: Callable[[int], None]) -> int:
    """Write the database of `url` to `file` and return its size in bytes.

    The file appears under its name only when complete, and only its owner may read it. It is a
    snapshot of one moment, even if others are writing. `progress` receives the number of bytes
    written. Raises storage errors, and InputError if the file cannot be written.
    """
    try:
        return await _dump_database(url, file, progress)
    except OSError as error:
        raise InputError(
            Message("{file} cannot be written: {reason}.", file=file, reason=error.strerror)
        ) from error


async def _dump_database(url: str, file: Path, progress: Callable[[int], None]) -> int:
    with _open_unfinished(file) as part:
        # The partitions of placed corpora, which are empty: restored, these corpora are here.
        arguments = ("--format=custom", "--no-password", "--exclude-table=staged_*")
        program_started = start_program(
            "pg_dump", *arguments, f"--file={part}", within=build_environment(url)
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
    sql = load_statements("restore")
    try:
        database = await Database.open(url, PoolSettings(size=1))
    except StorageUnreachable:  # pg_dump says what is wrong
        yield
        return
    try:
        async with database.transaction() as connection:
            if await connection.fetchval(sql["set_up"]):
                await connection.execute("SET LOCAL statement_timeout = 0")
                await connection.execute(sql["hold_placed"], timeout=PATIENCE)
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


async def upgrade_database(
    database: Database, url: str, folder: Path, *, progress: Callable[[str], None]
) -> list[str]:
    """Bring the tables up to date and return the names of the migrations that ran here.

    What an older version has stored is kept in `folder` first: there is no other way back. Of
    several processes one does the work, and the others wait for it. `progress` receives sentences.
    Raises storage errors, and InputError if the backup cannot be written; nothing is changed then.
    """
    async with database.connection() as connection:
        if not await check_migrations(connection):
            return []
    async with database.own_connection() as connection:
        await connection.execute(
            load_statements("restore")["queue_upgrade"], timeout=_UPGRADE_PATIENCE
        )
        if missing := await check_migrations(connection):
            await _keep_backup(connection, url, folder, len(missing), progress)
        return await database.migrate()


async def _keep_backup(
    connection: Connection, url: str, folder: Path, missing: int, progress: Callable[[str], None]
) -> None:
    """Back up what is there, unless nothing is or it is too large."""
    sql = load_statements("restore")
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
    await dump_tables(url, file, progress=lambda _: None)
    progress(f"What was there is kept in {file}; docs/database.md tells how to return to it.")
    _drop_oldest(folder)


def _drop_oldest(folder: Path) -> None:
    kept = sorted(folder.glob("before-upgrade-*.dump"), key=lambda file: file.stat().st_mtime)
    for file in kept[:-_BACKUPS]:
        file.unlink(missing_ok=True)


async def holds_something(database: Database) -> bool:
    """Tell whether the database holds a corpus or a chat."""
    async with database.connection() as connection:
        sql = load_statements("restore")
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
    if not is_unreleased(applied) and max(applied, default=0) > list_migrations()[-1].version:
        raise StorageOutdated(
            Message("The database was set up by a newer version of presagio."),
            fix=Message("Restore into an empty one: name it in DATABASE_URL or PRESAGIO_DATA_DIR."),
        )


async def is_set_up(database: Database) -> bool:
    """Tell whether there are tables to back up, of any version."""
    async with database.connection() as connection:
        return bool(await connection.fetchval(load_statements("restore")["set_up"]))


async def others_work(database: Database) -> bool:
    """Return whether presagio has other connections than the single one of `database`."""
    async with database.connection() as connection:
        return bool(await connection.fetchval(load_statements("restore")["others"]))

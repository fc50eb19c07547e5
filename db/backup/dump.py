"""Takes a backup: the whole database in one file of pg_dump, on demand or before an upgrade."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from db.backup.programs import environment, running
from db.connection import Connection
from db.migrate import check
from db.pool import Database
from db.statements import statements
from engine.errors import InputError
from engine.messages import Message

_SIGN_SECONDS = 0.2  # between two progress reports
_MEGABYTE = 1_000_000
_LARGEST = 2_000 * _MEGABYTE  # of a database that is backed up unasked: some 20 seconds
_BACKUPS = 3  # of upgrades that are kept
_PATIENCE = 3600.0  # seconds for the upgrade of another process


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
    with _unfinished(file) as part:
        arguments = ("--format=custom", "--no-password", f"--file={part}")
        async with running("pg_dump", *arguments, within=environment(url)) as program:
            ended = asyncio.create_task(program.end())
            while not (await asyncio.wait({ended}, timeout=_SIGN_SECONDS))[0]:
                progress(part.stat().st_size)
            await ended
        with part.open("rb") as whole:
            os.fsync(whole.fileno())
        size = part.stat().st_size
        part.replace(file)
    return size


@contextmanager
def _unfinished(file: Path) -> Iterator[Path]:
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
        await connection.execute(statements("restore")["queue_upgrade"], timeout=_PATIENCE)
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
    version, size = await connection.fetchval(sql["newest"]), await connection.fetchval(sql["size"])
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
    for file in sorted(folder.glob("before-upgrade-*.dump"))[:-_BACKUPS]:
        file.unlink(missing_ok=True)

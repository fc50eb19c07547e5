"""Upgrades of the embedded database: what an older version has stored is backed up first."""

from collections.abc import Callable
from pathlib import Path

from db.backup import dump_tables
from db.connection import Connection, load_statements
from db.migrate import check_migrations, read_applied
from db.pool import Database

_MEGABYTE = 1_000_000
_LARGEST = 2_000 * _MEGABYTE  # of a database that is backed up unasked: some 20 seconds
_BACKUPS = 3  # that are kept
_PATIENCE = 3600.0  # seconds for the upgrade of another process


async def upgrade_database(
    database: Database, folder: Path, *, progress: Callable[[str], None]
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
        await connection.execute(load_statements("backup")["queue_upgrade"], timeout=_PATIENCE)
        if missing := await check_migrations(connection):
            await _keep_backup(database, connection, folder, len(missing), progress)
        return await database.migrate()


async def _keep_backup(
    database: Database,
    connection: Connection,
    folder: Path,
    missing: int,
    progress: Callable[[str], None],
) -> None:
    """Back up what is there, unless nothing is or it is too large."""
    sql = load_statements("backup")
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
    await dump_tables(database, file, lambda _: None)
    progress(f"What was there is kept in {file}; docs/database.md tells how to return to it.")
    _drop_oldest(folder)


def _drop_oldest(folder: Path) -> None:
    dumps = sorted(folder.glob("before-upgrade-*.dump"), key=lambda file: file.stat().st_mtime)
    for file in dumps[:-_BACKUPS]:
        file.unlink(missing_ok=True)

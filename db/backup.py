"""Backups by pg_dump, restored by pg_restore; one is made before an upgrade of the tables.

A backup is a program: whoever wrote it decides what a restore runs. So where the role of the URL is
a superuser, a restore logs in as a role that is none: a line of the file could undo a SET ROLE.
"""

import os
import re
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from db.connection import Connection, about_corpus, load_statements
from db.corpus.corpora import add_languages
from db.migrate import check_migrations, read_applied
from db.pool import Database
from db.programs import find_environment, run_client
from engine.errors import InputError, StorageError, UsageError
from engine.messages import Message

_PATIENCE = 24 * 3600.0  # seconds for one statement: a table of millions of rows takes long
_EXTENSIONS = ("pg_trgm", "unaccent", "vector")  # some only a superuser may create
_MEGABYTE = 1_000_000
_LARGEST = 2_000 * _MEGABYTE  # of a database that is backed up unasked: some 20 seconds
_BACKUPS = 3  # that are kept
_UPGRADE_PATIENCE = 3600.0  # seconds for the upgrade of another process


async def back_up_database(
    database: Database, file: Path, *, progress: Callable[[str], None]
) -> None:
    """Write the database to `file`, while others work in it.

    Raises InputError if the file cannot be written, and storage errors, also if a corpus lacks
    documents, as where its table is damaged. The file is what it was then.
    """
    async with database.own_connection() as connection:
        await connection.execute("SET statement_timeout = 0")
        await _count_documents(connection)  # without a transaction, which would lock all tables
        async with connection.transaction():
            await connection.execute(load_statements("backup")["hold_placed"], timeout=_PATIENCE)
            await dump_tables(database, file, progress)


async def dump_tables(database: Database, file: Path, progress: Callable[[str], None]) -> None:
    """Write the database to `file`, which appears when complete; only its owner may read it."""
    # Without the partitions of placed corpora, which are empty.
    options = ("--format=custom", "--no-password", "--verbose", "--exclude-table=staged_*")
    within = await find_environment(database)
    try:
        with _replace_file(file) as part:
            dump = ("pg_dump", *options, f"--file={part}")
            await run_client(*dump, within=within, progress=progress)
    except OSError as error:
        raise InputError(
            Message("{file} cannot be written: {reason}.", file=file, reason=error.strerror)
        ) from error


@contextmanager
def _replace_file(file: Path) -> Iterator[Path]:
    """Yield an empty file beside `file`, which takes its place unless the block fails."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        yield Path(name)
        os.fsync(handle)
        Path(name).replace(file)
    finally:
        os.close(handle)
        Path(name).unlink(missing_ok=True)


async def restore_database(
    database: Database, file: Path, *, progress: Callable[[str], None]
) -> dict[str, int]:
    """Restore `file` into an empty database, in one transaction, and bring it up to date.

    Returns the number of documents of each corpus; those that were on workers are here now. Raises
    UsageError if the database is not empty, InputError if the file is a backup of something else,
    and storage errors; also if the backup lacks documents.
    """
    sql, within = load_statements("backup"), await find_environment(database)
    async with database.own_connection() as connection:
        await connection.execute("SET statement_timeout = 0")
        if await connection.fetchval(sql["holds"]):
            raise UsageError(
                Message("The database is not empty."),
                fix=Message("Name an empty one in PRESAGIO_DATA_DIR or DATABASE_URL."),
            )
        await _restore_tables(connection, file, within, progress)
        await database.migrate()
        await add_languages(database)
        for row in await connection.fetch(sql["bring_here"]):
            await connection.execute(about_corpus("backup", "attach", row["id"]), timeout=_PATIENCE)
        await connection.execute("ANALYZE", timeout=_PATIENCE)
        return await _count_documents(connection)


async def _restore_tables(
    connection: Connection, file: Path, within: dict[str, str], progress: Callable[[str], None]
) -> None:
    listed = await run_client("pg_restore", "--list", str(file), within=within)
    if not re.search(r" TABLE DATA \S+ migration ", listed):
        raise InputError(Message("{file} holds no tables of presagio.", file=file))
    for name in _EXTENSIONS:
        if f" EXTENSION - {name} " in listed:
            await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    with tempfile.TemporaryDirectory(prefix="presagio-") as folder:
        contents_file = Path(folder) / "contents"
        lines = (line for line in listed.splitlines(True) if " EXTENSION " not in line)
        contents_file.write_text("".join(lines), encoding="utf-8")
        async with _restoring_role(connection) as login:
            await run_client(
                *("pg_restore", "--dbname=", "--no-password", "--verbose", *options),
                *(f"--use-list={contents_file}", str(file)),
                within=within | login,
                progress=progress,
            )


@asynccontextmanager
async def _restoring_role(connection: Connection) -> AsyncIterator[dict[str, str]]:
    """Have a superuser's programs log in, by the variables yielded, as a role that is none."""
    sql = load_statements("backup")
    if not await connection.fetchval(sql["is_superuser"]):
        yield {}
        return
    role, password = f"presagio_restore_{secrets.token_hex(4)}", secrets.token_hex(16)
    await connection.execute(sql["make_role"].format(role=role, password=password))
    try:
        yield {"PGUSER": role, "PGPASSWORD": password}
    finally:
        await connection.execute(sql["drop_role"].format(role=role), timeout=_PATIENCE)


async def _count_documents(connection: Connection) -> dict[str, int]:
    """Return how many documents each corpus has. Raises StorageError if some are missing."""
    stored = {}
    for corpus in await connection.fetch(load_statements("backup")["corpora"]):
        count = about_corpus("backup", "count", corpus["id"])
        row = await connection.fetchrow(count, corpus["id"], timeout=_PATIENCE)
        if row is not None and row["stored"] != row["documents"]:
            raise StorageError(
                Message(
                    "{name} has {stored:,} documents in place of {documents:,}.", **corpus, **row
                ),
                fix=Message("Its table is damaged: restore an older backup into a new database."),
            )
        stored[corpus["name"]] = row["stored"] if row else 0
    return stored


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
        await connection.execute(
            load_statements("backup")["queue_upgrade"], timeout=_UPGRADE_PATIENCE
        )
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

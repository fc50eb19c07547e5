"""Backups by pg_dump, restored by pg_restore; one is made before an upgrade of the tables.

PostgreSQL's own programs do that, which are told their connection in the environment.

A backup is a program: whoever wrote it decides what a restore runs. So where the role of the URL is
a superuser, a restore logs in as a role that is none: a line of the file could undo a SET ROLE.
"""

import asyncio
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from db.connection import Connection, about_corpus, load_statements
from db.corpus.corpora import add_languages
from db.embedded.os_user import find_binaries
from db.migrate import check_migrations, read_applied
from db.pool import Database
from engine.errors import (
    InputError,
    StorageError,
    StorageFull,
    StorageRights,
    StorageUnreachable,
    UsageError,
)
from engine.messages import Message

_PATIENCE = 24 * 3600.0  # seconds for one statement: a table of millions of rows takes long
_EXTENSIONS = ("pg_trgm", "unaccent", "vector")  # some only a superuser may create
_MEGABYTE = 1_000_000
_LARGEST = 2_000 * _MEGABYTE  # of a database that is backed up unasked: some 20 seconds
_BACKUPS = 3  # that are kept
_UPGRADE_PATIENCE = 3600.0  # seconds for the upgrade of another process
_TROUBLE = re.compile(r"\b(?:FATAL|ERROR|error):\s+(.+)")
_HINT = re.compile(r"^HINT:\s+(.+)", re.MULTILINE)
_TAIL = 16_384  # bytes of what a program has said that are kept
_VERSIONS = "Install the client programs of the server's version (Debian: postgresql-client)."
# Texts in the output of failed programs, and what to do about them.
_KNOWN: tuple[tuple[str, type[StorageError], str], ...] = (
    ("version mismatch", StorageUnreachable, _VERSIONS),
    ('"transaction_timeout"', StorageUnreachable, _VERSIONS),  # which servers before 17 lack
    ("unsupported version", StorageUnreachable, "Use the programs of a newer PostgreSQL."),
    ("No space left on device", StorageFull, "Free some disk space."),
    ("permission denied", StorageRights, "Use the role that owns the tables."),
)


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


def build_environment(url: str, version: int = 0) -> dict[str, str]:
    """Return the environment in which programs find the database of `url`, and each other.

    The database is in DATABASE_URL, and in PGHOST and the like. Of several programs those of a
    server's major `version` come first. Raises StorageUnreachable.
    """
    try:
        # Parameters in the query override the parts before it.
        named = {_name_variable(name): value for name, value in _parse_url(url) if value}
    except ValueError as error:
        raise StorageUnreachable(
            Message("The address of the database makes no sense."),
            fix=Message("Write /, #, ? and @ in a password as %XX."),
        ) from error
    others = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    path = os.pathsep.join(_list_folders(version))
    return others | named | {"DATABASE_URL": url, "PATH": path}


def _list_folders(version: int) -> list[str]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    with suppress(StorageUnreachable):  # those of the wheel are those of the embedded server
        folders.insert(0, str(find_binaries().folder))
    return sorted(folders, key=lambda folder: not (version and _is_version(folder, version)))


def _is_version(folder: str, version: int) -> bool:
    if (program := shutil.which("pg_restore", path=folder)) is None:
        return False
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - from PATH
    return f") {version}" in said.stdout


async def find_environment(database: Database) -> dict[str, str]:
    """Return the environment in which programs of its server's version find a database.

    Raises StorageError behind a pooler: programs take the search path from their session, which
    others use after them.
    """
    if database.is_pooled:
        raise StorageError(
            Message("PostgreSQL's own programs cannot work through a pooler."),
            fix=Message("Set DATABASE_URL to the address of the server itself for this command."),
        )
    async with database.connection() as connection:
        version = connection.get_server_version().major
    return build_environment(database.url, version)


def _name_variable(parameter: str) -> str:
    """Return the variable of a parameter; programs ignore those that do not exist."""
    return "PGDATABASE" if parameter == "database" else f"PG{parameter.replace('_', '').upper()}"


def _parse_url(url: str) -> Iterator[tuple[str, str]]:
    parts = urlsplit(url)
    login, _, places = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    yield "user", unquote(user)
    yield "password", unquote(password)
    hosts = [_host_and_port(place) for place in places.split(",")]
    yield "host", ",".join(host for host, _ in hosts)
    yield "port", ",".join(port for _, port in hosts) if any(port for _, port in hosts) else ""
    yield "database", unquote(parts.path.removeprefix("/"))
    for name, value in parse_qsl(parts.query):
        yield ("database" if name == "dbname" else name), value


def _host_and_port(place: str) -> tuple[str, str]:
    """Parse "name", "name:5432" or "[::1]:5432"."""
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = place.partition(":")
    return unquote(host), port


async def run_client(
    name: str,
    *arguments: str,
    within: Mapping[str, str],
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Run a program to its end and return its output; it is killed if this is cancelled.

    `progress` receives what it says meanwhile. Raises storage errors.
    """
    program = shutil.which(name, path=within["PATH"])
    if program is None:
        raise StorageUnreachable(
            Message("The program {name} is not installed.", name=name),
            fix=Message("Install PostgreSQL's client programs (Debian: postgresql-client)."),
        )
    process = await asyncio.create_subprocess_exec(
        program, *arguments, env=within, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    assert process.stdout  # noqa: S101 - pipes were asked for
    assert process.stderr  # noqa: S101
    output, said = asyncio.create_task(process.stdout.read()), b""
    try:
        while heard := await process.stderr.read(_TAIL):
            said = (said + heard)[-_TAIL:]
            progress(said.decode(errors="replace").rstrip().rpartition("\n")[2])
        if await process.wait():
            raise _read_failure(name, said.decode(errors="replace"))
        return (await output).decode(errors="replace")
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.gather(process.wait(), output, return_exceptions=True)


def _read_failure(name: str, said: str) -> StorageError:
    match = _TROUBLE.search(said)
    reason = (match[1] if match else said.strip().rpartition("\n")[2]).strip().rstrip(".")
    reason = reason or "it gave no reason"
    message = Message("{name} failed: {reason}.", name=name, reason=reason)
    for sign, kind, fix in _KNOWN:
        if sign in said:
            return kind(message, fix=fix)
    hint = _HINT.search(said)
    return StorageError(message, fix=hint[1] if hint else None)

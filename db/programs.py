"""Runs PostgreSQL's own programs, whose connection is told in the environment."""

import asyncio
import os
import re
import shutil
import subprocess
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, unquote, urlsplit

from db.embedded.os_user import find_binaries
from db.pool import Database
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import Message

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

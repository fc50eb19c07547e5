"""The databases of a test run: one server, one template a run, few clones of it a worker.

Every name carries the second the run began, so that a later run can tell, on a server that
outlives the runs, which databases a dead run left behind.
"""

import asyncio
import itertools
import os
import re
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from db.embedded.server import FileLock
from db.migrate import migrate
from db.pool import Database, PoolSettings, give_role, server_settings
from tests.emptied import Pristine, connected, settle
from tests.patience import until

T = TypeVar("T")

# A crash of the machine may cost this server its data.
CARELESS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "shared_buffers": "128MB",  # all of them are looked through whenever a table is dropped
}
_STALE_SECONDS = 24 * 60 * 60
_LOCK_SECONDS = 120.0
_PREFIX = "presagio_test"
_FIRST_CHANGEABLE_OID = 10_000  # below it, types are the same in all databases of all servers
_BLOCKED = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
KEEPER = "keeper of databases"  # the name of the session that empties one


def wait_for(work: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end in a loop of its own, whether or not one runs here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def with_database(url: str, database: str) -> str:
    """Return `url` with another database in it."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


async def execute(url: str, *statements: str) -> None:
    """Run statements one by one, outside any transaction."""
    async with connected(url) as connection:
        for statement in statements:
            await connection.execute(statement)


async def allow_connections(url: str, *, allowed: bool) -> None:
    """Let somebody into the database of a URL, or nobody, and throw out who is there."""
    name = urlsplit(url).path[1:]
    await execute(
        with_database(url, "postgres"),
        f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {allowed}',
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
    )


async def fetch(url: str, query: str, *values: object) -> list[asyncpg.Record]:
    """Return the rows of one query over a connection of its own."""
    async with connected(url) as connection:
        return list(await connection.fetch(query, *values))


@asynccontextmanager
async def pool_on(url: str, settings: PoolSettings | None = None) -> AsyncIterator[Database]:
    """Lend a pool on a database."""
    database = await Database.open(url, settings or PoolSettings())
    try:
        yield database
    finally:
        await database.close()


async def run_sql(database: Database, statement: str, *values: object) -> None:
    """Run one statement on a connection of a pool."""
    async with database.connection() as connection:
        await connection.execute(statement, *values)


async def fetch_rows(database: Database, query: str, *values: object) -> list[asyncpg.Record]:
    """Return the rows of a query on a connection of a pool."""
    async with database.connection() as connection:
        return list(await connection.fetch(query, *values))


async def fetch_row(database: Database, query: str, *values: object) -> asyncpg.Record | None:
    async with database.connection() as connection:
        return await connection.fetchrow(query, *values)


async def fetch_value(database: Database, query: str, *values: object) -> Any:
    async with database.connection() as connection:
        return await connection.fetchval(query, *values)


async def until_blocked(url: str) -> None:
    """Wait until somebody waits for a lock in a database."""
    async with connected(url) as connection:
        await until(lambda: connection.fetchval(_BLOCKED))


@contextmanager
def types_asked_once() -> Iterator[None]:
    """Keep what a server says of its own types, arrays among them, for later connections.

    Each would ask again, which takes three times as long as to connect.
    """
    known: dict[frozenset[int], object] = {}
    introspect = asyncpg.Connection._introspect_types  # type: ignore[attr-defined]  # private

    async def introspect_once(
        connection: asyncpg.Connection, oids: Collection[int], timeout: float
    ) -> object:
        if max(oids) >= _FIRST_CHANGEABLE_OID:
            return await introspect(connection, oids, timeout)
        asked = frozenset(oids)
        if asked not in known:
            known[asked] = await introspect(connection, oids, timeout)
        return known[asked]

    with patch.object(asyncpg.Connection, "_introspect_types", introspect_once):
        yield


class _Loop:
    """An event loop in a thread of its own, for connections that outlive the loops of tests."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="databases")
        self._thread.start()

    def run(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Clones:
    """Hands out copies of a template database: new ones, or ones that are as good as new."""

    def __init__(
        self, server_url: str, template: str, worker: str, pooler_url: str | None = None
    ) -> None:
        self._server_url = server_url
        self._pooler_url = pooler_url
        self._template = template
        self._worker = worker
        self._numbers = itertools.count(1)
        self._idle: list[tuple[str, asyncpg.Connection]] = []
        self._loop = _Loop()
        self._pristine = self._loop.run(Pristine.of(with_database(server_url, template)))

    @contextmanager
    def clone(self) -> Iterator[str]:
        """Lend the URL of a new copy; it is dropped afterwards, whoever is still connected."""
        url = self._loop.run(self._create())
        try:
            yield self._lent(url)
        finally:
            self._loop.run(self._drop(url))

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Lend the URL of a copy that may have served before; whoever is connected is thrown out.

        What cannot be made as good as new is dropped.
        """
        # Its session stays: a new one would spend most of its time reading the catalogue.
        url, session = self._idle.pop() if self._idle else self._loop.run(self._opened())
        try:
            yield self._lent(url)
        finally:
            if self._loop.run(self._pristine.restore(session)):
                self._idle.append((url, session))
            else:
                self._loop.run(self._dropped(url, session))

    @contextmanager
    def filled(self, fill: Callable[[str], Coroutine[object, object, None]]) -> Iterator["Clones"]:
        """Lend clones of a copy that `fill` has filled: cheaper than to fill each anew."""
        with self.clone() as url:
            wait_for(fill(url))
            source = with_database(self._server_url, urlsplit(url).path[1:])
            wait_for(settle(source))
            name = urlsplit(source).path[1:]
            ready = Clones(self._server_url, name, self._worker, self._pooler_url)
            try:
                yield ready
            finally:
                ready.close()

    def close(self) -> None:
        """Drop the copies that wait for another use."""
        while self._idle:
            self._loop.run(self._dropped(*self._idle.pop()))
        self._loop.close()

    def _lent(self, url: str) -> str:
        """Return the URL by which a test reaches the database of a URL of the server."""
        return with_database(self._pooler_url, urlsplit(url).path[1:]) if self._pooler_url else url

    async def _opened(self) -> tuple[str, asyncpg.Connection]:
        url = await self._create()
        return url, await asyncpg.connect(url, server_settings={"application_name": KEEPER})

    async def _dropped(self, url: str, session: asyncpg.Connection) -> None:
        session.terminate()
        await self._drop(url)

    async def _create(self) -> str:
        name = f"{self._template.removesuffix('_template')}_{self._worker}_{next(self._numbers)}"
        create = f'CREATE DATABASE "{name}" TEMPLATE "{self._template}" STRATEGY FILE_COPY'
        await execute(self._server_url, create)
        url = with_database(self._server_url, name)
        if self._pooler_url:
            await _ready_for_pooler(url)
        return url

    async def _drop(self, url: str) -> None:
        name = urlsplit(url).path.removeprefix("/")
        await execute(self._server_url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def clones(
    server_url: str, folder: Path, worker: str, pooler_url: str | None = None
) -> Iterator[Clones]:
    """Lend the clones of the template that all workers of a run share, through a pooler if named.

    The first worker makes the template and notes its name in `folder`; the last one drops it.
    """
    gate = FileLock(folder / "template.gate.lock")
    users = FileLock(folder / "template.users.lock")
    note = folder / "template.name"
    with _held(gate):
        if not note.exists():
            wait_for(drop_stale(server_url))
            template = wait_for(_create_template(server_url))
            if pooler_url:
                wait_for(_ready_for_pooler(with_database(server_url, template)))
            note.write_text(template)
        template = note.read_text()
        assert users.acquire(shared=True, timeout=_LOCK_SECONDS)
    ready = Clones(server_url, template, worker, pooler_url)
    try:
        yield ready
    finally:
        ready.close()
        with _held(gate):
            users.release()
            if users.acquire():
                note.unlink()
                drop = f'DROP DATABASE IF EXISTS "{template}" WITH (FORCE)'
                wait_for(execute(server_url, drop))
                users.release()


@contextmanager
def _held(lock: FileLock) -> Iterator[None]:
    assert lock.acquire(timeout=_LOCK_SECONDS), f"{lock.path} is held by a worker that hangs"
    try:
        yield
    finally:
        lock.release()


async def _create_template(server_url: str) -> str:
    # The same letters and the same order on every server, whatever locale it was set up with.
    name = f"{_PREFIX}_{time.time_ns() // 10**9}_{time.time_ns() % 10**9:09}_template"
    await execute(
        server_url,
        f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'"
        " LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'",
    )
    async with connected(with_database(server_url, name)) as connection:
        await migrate(connection)
    return name


async def _ready_for_pooler(url: str) -> None:
    """Give the role what `presagio init` gives it behind a pooler. No copy of a database has it."""
    async with connected(url) as connection:
        await give_role(connection, server_settings(PoolSettings()))


async def drop_stale(server_url: str) -> None:
    for row in await fetch(server_url, "SELECT datname FROM pg_database"):
        match = re.match(rf"{_PREFIX}_(\d+)_", row["datname"])
        if match and int(match[1]) < time.time() - _STALE_SECONDS:
            await execute(server_url, f'DROP DATABASE IF EXISTS "{row["datname"]}" WITH (FORCE)')


def copy_with_owners(source: Path, target: Path) -> None:
    """Copy the folder of a server, but its sockets; each copy belongs to whom its original did."""

    def sockets(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(folder, name).is_socket()]

    shutil.copytree(source, target, symlinks=True, ignore=sockets)
    for copy in (target, *target.rglob("*")):
        owner = (source / copy.relative_to(target)).lstat()
        os.chown(copy, owner.st_uid, owner.st_gid, follow_symlinks=False)

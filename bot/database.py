"""The database that the settings name, or the embedded one, lent and closed in order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bot.settings import Settings
from db.embedded.server import EmbeddedServer
from db.pool import Database, PoolSettings
from engine.errors import StorageError


@asynccontextmanager
async def open_database(
    settings: Settings, *, progress: Callable[[str], None]
) -> AsyncIterator[Database]:
    """Lend the database: the configured one, else the embedded one, started if need be.

    `progress` is told in a sentence what takes time. Raises storage errors.
    """
    async with open_with_server(settings, progress) as (database, _):
        yield database


@asynccontextmanager
async def open_with_server(
    settings: Settings, progress: Callable[[str], None]
) -> AsyncIterator[tuple[Database, EmbeddedServer | None]]:
    """Lend the same with the embedded server, or None beside another's. Raises storage errors."""
    async with _address(settings, progress) as (url, server):
        database = await Database.open(
            url,
            PoolSettings(
                size=settings.database.pool_size,
                connect_timeout=settings.database.connect_timeout,
                command_timeout=settings.database.command_timeout,
                statement_timeout=settings.database.statement_timeout,
            ),
        )
        try:
            yield database, server
        finally:
            await database.close()


@asynccontextmanager
async def open_url(settings: Settings, *, progress: Callable[[str], None]) -> AsyncIterator[str]:
    """Lend the address of the database: the configured one, else of the embedded one, started if
    need be. Raises storage errors.
    """
    async with _address(settings, progress) as (url, _):
        yield url


@asynccontextmanager
async def _address(
    settings: Settings, progress: Callable[[str], None]
) -> AsyncIterator[tuple[str, EmbeddedServer | None]]:
    if url := settings.database.url.get_secret_value():
        yield url, None
        return
    async with _embedded(settings.data_dir, progress) as server:
        yield server.url(), server


@asynccontextmanager
async def _embedded(
    data_dir: Path, progress: Callable[[str], None]
) -> AsyncIterator[EmbeddedServer]:
    """Lend the embedded server. An error of the block goes before one of the end."""
    server = EmbeddedServer(data_dir, progress=progress)
    try:
        await _to_its_end(server.acquire)
        yield server
    except BaseException:
        with suppress(StorageError):
            await _to_its_end(server.release)
        raise
    await _to_its_end(server.release)


async def _to_its_end(work: Callable[[], None]) -> None:
    """Run blocking work in a thread and return when it has ended, even where this is cancelled:
    a server that was started on the way must be known to whoever stops it."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.gather(thread, return_exceptions=True)
        raise

"""The database that the settings name, or the embedded one, lent and closed in order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
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
    async with AsyncExitStack() as stack:
        url, server = settings.database.url.get_secret_value(), None
        if not url:
            server = await stack.enter_async_context(_embedded(settings.data_dir, progress))
            url = server.url()
        database = await Database.open(
            url,
            PoolSettings(
                size=settings.database.pool_size,
                connect_timeout=settings.database.connect_timeout,
                command_timeout=settings.database.command_timeout,
                statement_timeout=settings.database.statement_timeout,
            ),
        )
        stack.push_async_callback(database.close)
        yield database, server


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

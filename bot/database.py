"""Opens the configured or the embedded database, and closes it in order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bot.settings import Settings
from db.embedded.server import EmbeddedServer
from db.migrate import check_migrations
from db.pool import Database, PoolSettings
from engine.errors import StorageError, StorageInterrupted, StorageUnreachable
from engine.messages import join_messages


@asynccontextmanager
async def open_database(
    settings: Settings, *, progress: Callable[[str], None]
) -> AsyncIterator[Database]:
    """Open the configured database, or the embedded one, which is started if necessary.

    `progress` is called with a sentence before each slow step. Raises storage errors.
    """
    async with open_with_server(settings, progress) as (database, _):
        yield database


@asynccontextmanager
async def open_with_server(
    settings: Settings, progress: Callable[[str], None]
) -> AsyncIterator[tuple[Database, EmbeddedServer | None]]:
    """Open the database and yield it with the embedded server, which is None for an external
    database. Raises storage errors.
    """
    async with _open_address(settings, progress) as (url, server):
        database = await Database.open(
            url,
            PoolSettings(
                size=settings.database.pool_size,
                command_timeout=settings.database.command_timeout,
                statement_timeout=settings.database.command_timeout,
            ),
        )
        try:
            yield database, server
        finally:
            await database.close()


async def bring_up_to_date(
    settings: Settings,
    database: Database,
    server: EmbeddedServer | None,
    progress: Callable[[str], None],
) -> list[str]:
    """Run the migrations that are missing and return their names.

    What the embedded database holds is backed up before. Raises storage errors, InputError.
    """
    if server is None:
        return await database.migrate()
    async with database.connection() as connection:
        if not await check_migrations(connection):
            return []
    from db.backup import upgrade_database  # noqa: PLC0415 - needed once a release

    return await upgrade_database(database, settings.data_dir, progress=progress)


@asynccontextmanager
async def _open_address(
    settings: Settings, progress: Callable[[str], None]
) -> AsyncIterator[tuple[str, EmbeddedServer | None]]:
    if url := settings.database.url.get_secret_value():
        yield url, None
        return
    async with _run_embedded(settings.data_dir, progress) as server:
        yield server.url(), server


@asynccontextmanager
async def _run_embedded(
    data_dir: Path, progress: Callable[[str], None]
) -> AsyncIterator[EmbeddedServer]:
    """Run the embedded server. An error in the block takes precedence over one at release."""
    server = EmbeddedServer(data_dir, progress=progress)
    try:
        await _to_its_end(server.acquire)
        yield server
    except (StorageInterrupted, StorageUnreachable) as error:
        full = server.find_lack_of_room()
        with suppress(StorageError):
            await _to_its_end(server.release)
        if full:
            full.fix = join_messages(full.fix, error.stays)
            raise full from error
        raise
    except BaseException:
        with suppress(StorageError):
            await _to_its_end(server.release)
        raise
    await _to_its_end(server.release)


async def _to_its_end(work: Callable[[], None]) -> None:
    """Run blocking work in a thread and wait for its end, even when cancelled: a server that was
    started in the meantime must be known to the code that stops it."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.gather(thread, return_exceptions=True)
        raise

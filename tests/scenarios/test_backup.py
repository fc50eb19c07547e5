"""A backup taken while the bot serves holds one moment, and goes into a server of any kind."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from bot.cli.database import back_up, bring_back
from bot.console.screen import Output
from bot.settings import load_settings
from db.embedded.server import EmbeddedServer
from tests.database import CARELESS, fetch
from tests.patience import PATIENCE, until
from tests.scenarios.stage import HEADLINE, TWEETS, Stage

# What nobody changes while the backup is taken.
_AT_REST = ("corpus", "document", "chat", "subscription", "vote", "answer", "embedding_state")
_CONTENT = "SELECT count(*), md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM {} t"
_VECTORS = "SELECT relname FROM pg_class WHERE relname ~ '^embedding_\\d+$' AND relkind = 'r'"
_PAIR = (
    "WITH one AS (INSERT INTO model_call (called_at, purpose, model, source)"
    " VALUES (now(), 'pair', 'm', 'console'))"
    " INSERT INTO judgment (key, scores, model, prompt_version, created_at)"
    " VALUES (gen_random_uuid()::text, '[]', 'pair', 'v', now())"
)
_PAIRS = (
    "SELECT (SELECT count(*) FROM model_call WHERE purpose = 'pair'),"
    " (SELECT count(*) FROM judgment WHERE model = 'pair')"
)


@dataclass(frozen=True)
class BackedUp:
    """A backup, and what was in the tables at rest when it was taken."""

    file: Path
    content: Mapping[str, tuple[object, ...]]


def quiet() -> Output:
    """Output that nobody reads."""
    return Output(io.StringIO(), io.StringIO())


async def content(url: str) -> dict[str, tuple[object, ...]]:
    """Return how many rows the tables at rest and those of vectors have, and a hash of them."""
    connection = await asyncpg.connect(url)
    try:
        tables = [*_AT_REST, *(row[0] for row in await connection.fetch(_VECTORS))]
        rows = {name: await connection.fetchrow(_CONTENT.format(name)) for name in tables}
        return {name: tuple(row or ()) for name, row in rows.items()}
    finally:
        await connection.close()


@asynccontextmanager
async def writing(url: str) -> AsyncIterator[None]:
    """Write pairs of rows while the block runs, each pair in one transaction."""
    connection = await asyncpg.connect(url)
    begun = asyncio.Event()

    async def write() -> None:
        while True:
            await connection.execute(_PAIR)
            begun.set()

    task = asyncio.create_task(write())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    connection.terminate()


@pytest.fixture
async def backed_up(stage: Stage, tmp_path: Path) -> BackedUp:
    """A backup of what a bot did, taken while it serves and others write."""
    if not await stage.rows("SELECT FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("this server has no pgvector")
    stage.environment["PRESAGIO_EMBEDDINGS__BACKEND"] = "tfidf"
    async with stage.serving():
        alice, chat = stage.telegram.alone("Alice")
        answer = await (await alice.says(chat, HEADLINE)).answer()
        await (await alice.presses(answer, "👍")).answered()
        await (await alice.says(chat, "/subscribe daily 8:30")).answer()
        await until(lambda: stage.rows("SELECT FROM embedding_state WHERE embedded > 0"))
        file = tmp_path / "presagio.dump"
        async with writing(stage.database_url):
            await back_up(stage.settings(), file, json=False, output=quiet())
        return BackedUp(file, await content(stage.database_url))


async def assert_equal(url: str, backed_up: BackedUp) -> None:
    found = await content(url)
    assert found == backed_up.content
    assert [found[name][0] for name in ("subscription", "vote", "embedding_state")] == [1, 1, 1]
    assert found["embedding_1"][0] == found["document"][0] == len(TWEETS)
    [[calls, judgments]] = await fetch(url, _PAIRS)
    assert calls == judgments > 0


@pytest.mark.slow
async def test_a_backup_is_restored_into_an_embedded_server(
    backed_up: BackedUp, server_folder: Path
) -> None:
    settings = load_settings(environ={"PRESAGIO_DATA_DIR": str(server_folder)})
    await bring_back(settings, backed_up.file, json=False, output=quiet())
    with EmbeddedServer(server_folder, extra=CARELESS) as server:
        await assert_equal(server.url(), backed_up)


async def test_a_backup_is_restored_into_an_external_server(
    backed_up: BackedUp, empty_url: str
) -> None:
    settings = load_settings(environ={"DATABASE_URL": empty_url})
    await bring_back(settings, backed_up.file, json=False, output=quiet())
    await assert_equal(empty_url, backed_up)

"""The composition root: what is opened is closed, whenever it is cut off."""

import asyncio
import threading
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from aiohttp import web

from bot import app as app_module
from bot.app import open_app, open_with_server
from bot.settings import Settings, load_settings
from db.migrate import Migration, list_migrations
from db.pool import Database
from engine.errors import (
    CorpusNotFound,
    StorageError,
    StorageFull,
    StorageInterrupted,
    StorageOutdated,
    StorageUnreachable,
)
from engine.prophecy.headline import read_headline
from engine.search import Prophecy, SearchRequest
from engine.values import Kind
from tests.db.loading import load_texts
from tests.fakes.model import Asked, ModelServer, scoring
from tests.patience import PATIENCE


class SlowServer:
    """Stands in the place of the embedded server; it starts when it is allowed to."""

    def __init__(self) -> None:
        self.began, self.allowed = threading.Event(), threading.Event()
        self.running = False
        self.fails = False
        self.full: StorageError | None = None

    def __call__(self, *_: object, **__: object) -> "SlowServer":
        return self

    def acquire(self) -> None:
        self.began.set()
        assert self.allowed.wait(PATIENCE)
        self.running = True

    def release(self) -> None:
        self.running = False
        if self.fails:
            raise StorageUnreachable("It did not stop.")

    def url(self) -> str:
        return "postgresql://127.0.0.1:1/x"

    def diagnose_full_disk(self) -> StorageError | None:
        return self.full


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> SlowServer:
    server = SlowServer()
    monkeypatch.setattr(app_module, "EmbeddedServer", server)
    return server


async def test_lost_connection_is_explained_by_a_full_embedded_server(server: SlowServer) -> None:
    server.allowed.set()
    server.full = StorageFull("The embedded database ended: no room.")
    lost = StorageInterrupted("The connection to the database was lost.")
    lost.stored_work = "10,000 records of this run are stored and stay."
    with pytest.raises(StorageFull, match=r"no room\. 10,000 records of this run"):
        async with app_module.run_embedded(load_settings().data_dir, print):
            raise lost
    with pytest.raises(CorpusNotFound):
        async with app_module.run_embedded(load_settings().data_dir, print):
            raise CorpusNotFound("There is no corpus.")


async def opened(settings: Settings) -> None:
    async with open_with_server(settings, lambda _: None):
        raise AssertionError("there is no database there")


async def test_a_server_that_started_while_the_command_was_cut_off_is_stopped(
    server: SlowServer,
) -> None:
    opening = asyncio.create_task(opened(load_settings()))
    await asyncio.to_thread(server.began.wait, PATIENCE)
    opening.cancel()
    await asyncio.sleep(0.05)
    assert not opening.done()  # it must know whether there is something to release
    server.allowed.set()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert server.running is False
    assert opening.cancelled()


async def test_a_server_that_fails_too_does_not_hide_what_came_first(server: SlowServer) -> None:
    server.allowed.set()
    server.fails = True
    with pytest.raises(StorageUnreachable, match="cannot be reached"):
        await opened(load_settings())


async def test_a_server_whose_database_cannot_be_opened_is_released(server: SlowServer) -> None:
    server.allowed.set()
    with pytest.raises(StorageUnreachable):
        await opened(load_settings())
    assert server.began.is_set()
    assert server.running is False


async def test_a_database_of_somebody_else_is_set_up_only_when_asked(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    settings = load_settings()
    newer = [*list_migrations(), Migration(9000, "since", "CREATE TABLE since ()")]
    monkeypatch.setattr("db.migrate.list_migrations", lambda: newer)
    with pytest.raises(StorageOutdated, match=r"older version of presagio.*presagio init"):
        async with open_app(settings, progress=lambda _: None):
            pass
    async with open_app(settings, progress=lambda _: None, migrate=True) as app:
        assert await app.corpora.list() == []


class TestWhichCorpusIsMeant:
    """By whoever names none."""

    async def chosen(self, url: str, **kinds: Kind) -> str:
        settings = load_settings(environ={"DATABASE_URL": url})
        async with open_app(settings, progress=lambda _: None, migrate=True) as app:
            for name, kind in kinds.items():
                await app.corpora.ensure(name, kind=kind, language="english", author=None)
            return (await app.corpus("")).name

    @pytest.mark.parametrize(
        ("kinds", "chosen"),
        [
            ({"a": Kind.PERSONAL, "b": Kind.SOCIAL, "tweets": Kind.TWEETS}, "tweets"),
            ({"demo": Kind.TWEETS, "news": Kind.PUBLISHED, "chats": Kind.PERSONAL}, "chats"),
        ],
    )
    async def test_tweets_come_first_and_the_demo_and_the_news_last(
        self, database_url: str, kinds: dict[str, Kind], chosen: str
    ) -> None:
        assert await self.chosen(database_url, **kinds) == chosen


class TestSeveralArchives:
    """Two archives that hold a tweet of the headline each, and a model that judges them."""

    @pytest.fixture
    async def archives(self, database_url: str, database: str) -> Mapping[str, str]:
        storage = await Database.open(database)
        for name in ("ana", "luis"):
            await load_texts(storage, name, [f"Coffee prices soar, says {name}."], "english")
        await storage.close()
        return {"DATABASE_URL": database_url, "OPENROUTER_API_KEY": "key"}

    async def answered(self, environ: Mapping[str, str], model: ModelServer) -> Prophecy:
        base = {"PRESAGIO_LLM__BASE_URL": model.base_url, "PRESAGIO_LLM__RETRIES": "0"}
        settings = load_settings(environ={**environ, **base})
        headline = read_headline("Coffee prices soar")
        request = SearchRequest(headline=headline, limit=3, now=datetime.now(UTC))
        async with open_app(settings, progress=lambda _: None) as app, asyncio.timeout(PATIENCE):
            return await app.prophesy(request, corpus="all")

    async def test_archives_are_judged_in_parallel(self, archives: Mapping[str, str]) -> None:
        async with ModelServer() as model:

            async def judge(asked: Asked, request: web.Request) -> web.StreamResponse:
                await model.until_asked(2)
                return await scoring(lambda *_: 5)(asked, request)

            model.script = [judge]
            found = await self.answered(archives, model)
        assert len(found.hits) == len(found.verdict.scores) == 2
        assert found.usage
        assert found.usage.cost_usd == pytest.approx(0.004)

    async def test_archives_share_the_budget(self, archives: Mapping[str, str]) -> None:
        limits = {"PRESAGIO_LLM__DAILY_TOKENS": "100", "PRESAGIO_SEARCH__EXPANSION": "off"}
        async with ModelServer(script=[scoring(lambda *_: 5)]) as model:
            found = await self.answered({**archives, **limits}, model)
        assert model.calls == 1
        assert [hit.parts["judgment"] for hit in found.hits] == [5 / 6, None]
        assert "daily model budget" in str(found.verdict.notice)

"""What goes wrong with one feed stays with it: all others are polled, and the job is done."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.app import App, open_app
from bot.jobs.poll import FeedPoller, documents_of
from bot.settings import load_settings
from db.posting.feeds import Feeds
from engine.corpora import NEWS_CORPUS
from engine.errors import CorpusConflict
from engine.feeds.decide import decide_poll
from engine.feeds.feed import ConfiguredFeed, Feed, ParsedFeed
from engine.feeds.read import FeedParser
from engine.fetch import Fetched
from engine.fetch.client import Fetcher
from engine.values import Kind
from tests.engine.feeds.documents import item, rss
from tests.fakes.web import WebServer, page, silent
from tests.patience import until

NOW = datetime(2026, 6, 1, tzinfo=UTC)
FEED = page(rss(item("The port is closed")), "application/rss+xml")


class FetcherThatFails(Fetcher):
    """As a library does that nobody expects to."""

    async def get(self, url: str, **wanted: Any) -> Fetched:
        if "/unforeseen" in url:
            raise KeyError(url)
        return await super().get(url, **wanted)


class ParserOfTheUnstorable(FeedParser):
    """Reads more than the database can keep."""

    async def parse(self, body: bytes, content_type: str | None, url: str) -> ParsedFeed:
        parsed = await super().parse(body, content_type, url)
        return replace(parsed, title="\0") if "/unstorable" in url else parsed


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with WebServer() as server:
        for path in ("/good", "/unforeseen", "/unstorable"):
            server.pages[path] = FEED
        yield server


@asynccontextmanager
async def polling(database_url: str) -> AsyncIterator[tuple[FeedPoller, App]]:
    environ = {"DATABASE_URL": database_url, "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]'}
    settings = load_settings(environ=environ)
    async with (
        open_app(settings, progress=lambda _: None, migrate=True) as app,
        FetcherThatFails(settings.fetch) as fetcher,
        ParserOfTheUnstorable(workers=1) as parser,
    ):
        yield FeedPoller(app, fetcher, parser), app


async def known(feeds: Feeds) -> dict[str, Feed]:
    health = await feeds.health(now=NOW)
    return {one.feed.url.rpartition("/")[2]: one.feed for one in health}


async def test_failure_of_one_feed_does_not_affect_others(
    database_url: str, web: WebServer
) -> None:
    paths = ("/good", "/unforeseen", "/unstorable")
    urls = [*map(web.url, paths), "http://xn--.x/idna", "http://127.0.0.1:99999/port"]
    async with polling(database_url) as (work, _):
        await work.feeds.configure_feeds([ConfiguredFeed(url=url) for url in urls], now=NOW)
        assert await work.run(clock=lambda: NOW) == 5
        feeds = await known(work.feeds)
    assert {name for name, feed in feeds.items() if feed.succeeded_at} == {"good"}
    failed = {name: feed.error for name, feed in feeds.items() if feed.failures == 1}
    unforeseen = "What 127.0.0.1 sent could not be worked with; the log says why."
    refused = "{} was not opened: it is no address of the public web."
    assert failed == {
        "unforeseen": unforeseen,
        "unstorable": unforeseen,
        "idna": refused.format("xn--.x"),
        "port": refused.format("127.0.0.1"),
    }


async def test_corpus_conflict_fails_the_job_and_no_feed(database_url: str, web: WebServer) -> None:
    async with polling(database_url) as (work, app):
        await app.corpora.ensure(NEWS_CORPUS, kind=Kind.TWEETS, language="simple", author=None)
        await work.feeds.configure_feeds([ConfiguredFeed(url=web.url("/good"))], now=NOW)
        with pytest.raises(CorpusConflict):
            await work.run(clock=lambda: NOW)
        assert (await known(work.feeds))["good"].failures == 0


async def test_parsing_runs_in_worker_threads(
    database_url: str, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def recorded(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            threads.append(threading.current_thread().name.partition("_")[0])
            return work(*arguments, **named)

        return run

    monkeypatch.setattr("bot.jobs.poll.decide_poll", recorded(decide_poll))
    monkeypatch.setattr("bot.jobs.poll.documents_of", recorded(documents_of))
    async with polling(database_url) as (work, _):
        await work.feeds.configure_feeds([ConfiguredFeed(url=web.url("/good"))], now=NOW)
        await work.run(clock=lambda: NOW)
    assert threads == ["feed", "news"]


async def test_cancelled_poll_releases_its_feeds(database_url: str, web: WebServer) -> None:
    web.pages["/slow"] = silent
    async with polling(database_url) as (work, _):
        await work.feeds.configure_feeds([ConfiguredFeed(url=web.url("/slow"))], now=NOW)
        polled = asyncio.create_task(work.run(clock=lambda: NOW))
        await until(lambda: web.requests)
        polled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await polled
        lease = timedelta(hours=1)
        assert len(await work.feeds.claim_due(now=NOW, limit=9, lease=lease)) == 1

"""A bot that reaches a stand-in for the web, and finds for its chats."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.subscriptions import Finds
from engine.feeds.feed import Story
from engine.feeds.lookup import FeedLookup
from engine.feeds.read import FeedParser
from engine.fetch import FetchLimits
from engine.fetch.client import Fetcher
from engine.posting.delivery import FindState
from engine.search import Hit
from engine.settings.fetching import FetchSettings
from tests.bot.conversing import Bot, Compose, bot_on
from tests.bot.prophecies import NOW, make_hit, make_prophecy
from tests.db.news import brought, configured, make_headline, read
from tests.engine.feeds.documents import item, rss
from tests.fakes.web import WebServer, page

HOUR = timedelta(hours=1)
FEED = page(rss(item("The port is closed"), item("The port is open")), "application/rss+xml")
LIMITS = FetchLimits(seconds=20, bytes=1_000_000)


@dataclass
class News:
    """A bot, and the web that it reads."""

    bot: Bot
    web: WebServer
    database: Database

    @property
    def feed(self) -> str:
        return self.web.url("/feed")

    async def stories(self, *titles: str) -> list[Story]:
        """Let a feed of everybody's bring these an hour ago."""
        now = NOW - HOUR
        (feed,) = await configured(self.database, "https://news.test/feed", now=now - HOUR)
        feed, _ = await brought(self.database, feed, now=now - HOUR)
        headlines = [make_headline(title, published=now) for title in titles]
        decision = read(feed, *headlines, now=now)
        stories = await Feeds(self.bot.app.database).settle(feed, decision, now=now)
        assert stories is not None
        return stories

    async def found(self, story: Story, judgment: int, *, text: str) -> None:
        """Keep a tweet that was judged for a story."""
        hit = tweet(story.id, text, judgment)
        await Finds(self.database).keep(
            story,
            "demo",
            FindState.JUDGED,
            coverage=0.5,
            prophecy=make_prophecy(hit, text=story.text, date=story.published),
            now=NOW - HOUR,
        )


def tweet(number: int, text: str, judgment: int) -> Hit:
    parts = {"judgment": judgment / 6, "lexical": 0.5, "age": 0.9}
    hit = make_hit(text=text, parts=parts)
    return replace(hit, candidate=replace(hit.candidate, external_id=str(number)))


@asynccontextmanager
async def news_on(
    storage: Database, *, compose: Compose | None = None, **options: Any
) -> AsyncIterator[News]:
    """Lend a bot that reads feeds, and writes if `compose` is given."""
    settings = FetchSettings(allow_networks=("127.0.0.0/8",))
    async with WebServer() as web, Fetcher(settings) as fetcher, FeedParser(workers=1) as parser:
        web.pages["/feed"] = FEED

        lookup = FeedLookup(fetcher=fetcher, parser=parser, limits=LIMITS)
        async with bot_on(storage, feed_lookup=lookup, compose=compose, **options) as bot:
            yield News(bot, web, storage)

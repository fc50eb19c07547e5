"""The news desk, wired: what the commands about feeds and posts work with."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from bot.app import App
from bot.commands.news_services import NewsServices
from bot.jobs.wiring import deciding_of
from db.posting.feeds import FeedOffers, Feeds
from db.posting.finds import Finds
from db.posting.job_outcomes import JobOutcomes
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.feeds.lookup import FeedLookup, address_of
from engine.feeds.parsing import FeedParser
from engine.fetch.client import Fetcher, FetchLimits

_SECONDS = 15.0  # somebody waits for the answer
_LONGEST_LIST = 1_000_000  # bytes


@asynccontextmanager
async def open_news_services(
    app: App, fetcher: Fetcher, *, delivers: Iterable[str] = ()
) -> AsyncIterator[NewsServices]:
    """Lend the news desk. `delivers` names the platforms on which posts are sent."""
    database, polling = app.database, app.settings.polling
    seconds = min(_SECONDS, polling.total_timeout)
    limits = FetchLimits(seconds=seconds, bytes=polling.max_megabytes * 1_000_000)
    list_limits = FetchLimits(seconds=seconds, bytes=_LONGEST_LIST)

    async def fetch_list(url: str) -> bytes:
        return (await fetcher.get(address_of(url), limits=list_limits)).body

    async with FeedParser(workers=1) as parser:  # its process starts when somebody asks
        yield NewsServices(
            feeds=Feeds(database),
            offers=FeedOffers(database),
            subscriptions=Subscriptions(database),
            finds=Finds(database),
            outbox=Outbox(database),
            outcomes=JobOutcomes(database),
            deciding=deciding_of(app),
            look_up=FeedLookup(fetcher=fetcher, parser=parser, limits=limits).look_up,
            fetch_list=fetch_list,
            feeds_per_chat=polling.feeds_per_chat,
            has_model=app.settings.has_model(),
            delivers=frozenset(delivers),
        )

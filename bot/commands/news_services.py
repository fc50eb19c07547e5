"""What the commands about feeds and posts work with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.jobs.digest import Deciding
from db.posting.feeds import FeedOffers, Feeds
from db.posting.finds import Finds
from db.posting.job_outcomes import JobOutcomes
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.feeds.lookup import FoundFeed, ReadableFeed
from engine.settings.section import UNLIMITED

LookUp = Callable[[str], Awaitable[ReadableFeed | tuple[FoundFeed, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsServices:
    """Stores, and the ways to the web. `look_up` and `fetch_list` raise FetchError."""

    feeds: Feeds
    offers: FeedOffers
    subscriptions: Subscriptions
    finds: Finds
    outbox: Outbox
    outcomes: JobOutcomes
    deciding: Deciding
    look_up: LookUp
    fetch_list: Callable[[str], Awaitable[bytes]]  # of feeds, as OPML
    feeds_per_chat: int = 50
    has_model: bool = True
    delivers: frozenset[str] = frozenset()  # platforms on which the outbox is emptied

    def room(self, own: int) -> int | None:
        """Return how many feeds a chat with so many of its own may add; None: any number."""
        return None if self.feeds_per_chat == UNLIMITED else max(self.feeds_per_chat - own, 0)

"""What passes between the stages of reading feeds.

Every datetime carries a zone; every duration is in seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from engine.documents import require_zone
from engine.errors import FetchError
from engine.messages import Message

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One item of a feed as its author wrote it, without markup."""

    identity: str  # guid, else link, else a hash of the words
    title: str
    link: str | None = None  # http(s) alone
    summary: str = ""
    published: datetime | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFeed:
    """What the bytes of one feed say."""

    entries: tuple[FeedEntry, ...]
    title: str | None = None
    link: str | None = None  # the site it belongs to
    language: str | None = None  # ISO 639-1
    ttl: float | None = None  # how long the author wants it to be kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One source with everything known of its past; what `decide` reads and returns anew."""

    id: int
    url: str
    category: str | None = None
    title: str | None = None
    configured: bool = False  # named by the settings; else added in chats
    etag: str | None = None  # verbatim, of the last answer that could be read
    last_modified: str | None = None
    next_poll_at: datetime
    polled_at: datetime | None = None
    succeeded_at: datetime | None = None
    failures: int = 0  # in a row
    failing_since: datetime | None = None
    told_failing: bool = False
    gone: bool = False  # 410: not polled any more
    moved_to: str | None = None  # where the last permanent redirect led
    moved_times: int = 0  # in a row, to the same address
    error: Message | None = None  # what the last failure says to a person

    def __post_init__(self) -> None:
        require_zone(self.next_poll_at)

    @property
    def primed(self) -> bool:
        """True once a poll has marked what was there before anybody subscribed."""
        return self.succeeded_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHeadline:
    """A headline that a feed brings for the first time, cleaned and dated."""

    identity: str
    title: str  # as written, without markup: what is shown
    text: str  # as searched: without label and source
    published: datetime  # first seen where the feed says none; never in the future
    link: str | None = None
    summary: str = ""
    author: str | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None  # ISO 639-1
    link_key: str | None = None  # engine.feeds.stories.link_key; None where entries share a link
    seen_before: bool = False  # there at the first poll, or old: kept as a document, no news

    def __post_init__(self) -> None:
        require_zone(self.published)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One piece of news, seen in one or more feeds."""

    id: int
    title: str
    text: str  # as searched
    published: datetime  # of the first headline
    first_seen_at: datetime
    link: str | None = None
    source: str | None = None  # title of the feed that brought it first
    language: str | None = None
    categories: tuple[str, ...] = ()  # of all feeds that brought it


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSettings:
    """How feeds are polled, in seconds."""

    interval: float = 30 * MINUTE  # between two polls of one feed, at the least
    longest: float = DAY  # no wait is longer, whatever a server or its failures say
    spread: float = 0.2  # share of each wait that is added at random
    tell_after: float = DAY  # a feed that fails for so long is told to its followers
    tell_failures: int = 3  # and not before so many polls in a row
    news_for: float = 7 * DAY  # an entry that its author dates earlier is no news


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The server answered 304."""

    headers: Mapping[str, str]  # names in any case
    moved: str | None = None  # where permanent redirects led


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The answer came and could be read."""

    parsed: ParsedFeed
    headers: Mapping[str, str]  # names in any case
    moved: str | None = None  # where permanent redirects led


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The feed could not be had, or not be read."""

    error: FetchError


Polled = Unchanged | Read | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFailing:
    """A feed has failed for long, or has ended. Told once, until it is back."""

    feed: Feed  # as it is now; `feed.error` says why
    since: datetime
    gone: bool  # 410: it will not be polled again


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedBack:
    """A feed that was told to be failing can be read again."""

    feed: Feed
    since: datetime  # when it had begun to fail


Notice = FeedFailing | FeedBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What follows from one poll; the store carries it out."""

    feed: Feed  # as it shall be from now on
    headlines: tuple[NewHeadline, ...] = ()  # all of the feed: the store knows which are unseen
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredFeed:
    """A feed as the settings name it."""

    url: str
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedHealth:
    """A feed with what an administrator wants to know of it."""

    feed: Feed
    headlines_a_day: float  # new ones, over the last week
    chats: int  # that added it for themselves

"""Types of feeds: parsed feeds and their entries, headlines, states of polls.

Every datetime has a zone; every duration is in seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from engine.corpora import require_zone
from engine.errors import FetchError
from engine.messages import Message

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One item of a feed as its author wrote it, without markup."""

    identity: str  # guid, else link, else a hash of the words
    title: str
    link: str | None = None  # http(s) only
    summary: str = ""
    published: datetime | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFeed:
    """The content of one feed."""

    entries: tuple[FeedEntry, ...]
    title: str | None = None
    link: str | None = None  # the site it belongs to
    language: str | None = None  # ISO 639-1
    ttl: float | None = None  # how long the author wants it to be cached
    guids_shared: bool = False  # different entries have the same guid


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One feed and its full state; `decide` reads it and returns a new one."""

    id: int
    url: str
    created_at: datetime  # when somebody began to follow it
    category: str | None = None
    title: str | None = None
    configured: bool = False  # listed in the settings; otherwise added in chats
    etag: str | None = None  # verbatim, from the last answer that could be read
    last_modified: str | None = None
    next_poll_at: datetime
    polled_at: datetime | None = None
    succeeded_at: datetime | None = None
    failures: int = 0  # in a row
    failing_since: datetime | None = None
    told_failing: bool = False
    gone: bool = False  # 410: no longer polled
    moved_to: str | None = None  # target of the last permanent redirect
    moved_times: int = 0  # in a row, to the same address
    error: Message | None = None  # the last failure, worded for a person
    read_at: datetime | None = None  # entries came, and not only word that nothing changed
    remark: Message | None = None  # what is odd about it, though it can be read
    remarked_at: datetime | None = None

    def __post_init__(self) -> None:
        require_zone(self.created_at)
        require_zone(self.next_poll_at)

    @property
    def is_primed(self) -> bool:
        """True once a poll has recorded what was there before anybody followed the feed."""
        return self.succeeded_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHeadline:
    """A headline that a feed brings for the first time, cleaned and dated."""

    identity: str
    title: str  # as written, without markup: for display
    text: str  # for search: without label and source
    published: datetime  # time first seen if the feed gives none; never in the future
    link: str | None = None
    summary: str = ""
    author: str | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None  # ISO 639-1
    link_key: str | None = None  # engine.text.address.link_key; None where entries share a link
    seen_before: bool = False  # from before the feed was followed, or old: a document, not news

    def __post_init__(self) -> None:
        require_zone(self.published)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One piece of news, seen in one or more feeds."""

    id: int
    title: str
    text: str  # as searched
    published: datetime  # of its first headline
    first_seen_at: datetime
    link: str | None = None
    source: str | None = None  # title of the feed that brought it first
    language: str | None = None
    categories: tuple[str, ...] = ()  # of all feeds that brought it


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedUnchanged:
    """The server answered 304."""

    headers: Mapping[str, str]  # names in any case
    moved: str | None = None  # where permanent redirects led


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The answer arrived and could be read."""

    parsed: ParsedFeed
    headers: Mapping[str, str]  # names in any case
    moved: str | None = None  # where permanent redirects led


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFailed:
    """The feed could not be fetched or read."""

    error: FetchError


Polled = FeedUnchanged | Read | FeedFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFailing:
    """A feed has failed for long, or is gone. Sent once, until it recovers."""

    feed: Feed  # in its new state; `feed.error` says why
    since: datetime
    gone: bool  # 410: it will not be polled again


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedBack:
    """A feed that was reported as failing can be read again."""

    feed: Feed
    since: datetime  # when it began to fail


Notice = FeedFailing | FeedBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The result of one poll; the store applies it."""

    feed: Feed  # the new state
    headlines: tuple[NewHeadline, ...] = ()  # all in the feed: the store knows which are new
    notices: tuple[Notice, ...] = ()
    guids_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredFeed:
    """A feed as listed in the settings."""

    url: str
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedHealth:
    """A feed with what an administrator wants to know about it."""

    feed: Feed
    headlines_a_day: float  # new ones, over the last week
    chats: int  # chats that added it themselves

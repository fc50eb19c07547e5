"""Subscriptions, finds and what is owed to chats.

Every datetime carries a zone; local times are in the chat's own.
"""

from dataclasses import dataclass
from datetime import datetime, time
from enum import StrEnum
from typing import NamedTuple

from engine.chat import Chat
from engine.feeds.types import Story
from engine.messages import Message
from engine.types import Hit, Prophecy

EVERY_DAY = (0, 1, 2, 3, 4, 5, 6)  # Monday is 0


class PostingMode(StrEnum):
    """When a chat is told of finds."""

    DAILY = "daily"
    INSTANT = "instant"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one chat wants to be told unasked. Empty filters let everything through."""

    chat: Chat
    mode: PostingMode = PostingMode.DAILY
    at: time = time(9, 0)  # local; of the daily post
    weekdays: tuple[int, ...] = EVERY_DAY
    best: int = 3  # prophecies in one daily post
    threshold: int = 5  # judgment (0..6) that a find must reach
    unjudged: bool = False  # also what no model judged, from unjudged_coverage on
    unjudged_coverage: float = 0.6
    say_nothing_found: bool = False
    thread: str | None = None  # topic or thread where posts go
    must: tuple[str, ...] = ()  # plain words; one of them must occur
    must_not: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # ISO 639-1
    categories: tuple[str, ...] = ()
    since: datetime | None = None  # nothing older is posted, and no post was due before


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFind:
    """What one corpus answered to one story. `prophecy.judged` tells whether a model agreed."""

    id: int
    story: Story
    corpus: str
    prophecy: Prophecy
    found_at: datetime


class FindState(StrEnum):
    """How far a story has come in one corpus."""

    DULL = "dull"  # retrieval promised nothing
    PROMISING = "promising"  # waits for the model
    UNJUDGED = "unjudged"  # the model could not be asked, and will not be
    JUDGED = "judged"


class Promising(NamedTuple):
    """A story that is worth the model in one corpus."""

    story: Story
    corpus: str
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A find that is to be posted, with the one of its hits that is shown."""

    find: StoryFind
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A tweet that was posted in a chat, or is owed to it, for a story."""

    story_id: int | None  # None once the story is forgotten
    corpus: str
    external_id: str
    text: str
    posted_at: datetime


class DeliveryState(StrEnum):
    """How far a delivery has come."""

    OWED = "owed"
    SENT = "sent"
    FAILED = "failed"  # given up: the chat is gone, or the platform refuses it for good


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One message owed to one chat. `key` is its idempotency key, unique for ever."""

    id: int
    key: str  # "daily:CHAT:2026-11-22", "story:CHAT:STORY", "notice:CHAT:FEED:failing:DATE"
    chat: Chat
    thread: str | None
    content: str  # JSON that bot.jobs writes and reads
    attempts: int  # that were begun, this one included
    begun_before: bool  # an earlier attempt may have arrived: nobody settled it
    created_at: datetime
    answers: tuple[int, ...] = ()  # ids of the stored answers, in the order they were chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedNotice:
    """Word about a feed that is to be owed to one chat."""

    chat: Chat
    thread: str | None
    key: str  # unique for ever
    content: str  # JSON, as of a delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Leased:
    """A delivery that one process may send until the lease ends."""

    delivery: Delivery
    lease: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDelivery:
    """A delivery as /history tells it."""

    key: str
    state: DeliveryState
    content: str
    created_at: datetime
    settled_at: datetime | None
    error: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxHealth:
    """What an administrator wants to know of the outbox."""

    owed: int
    oldest_owed_at: datetime | None
    retried: int  # of those that are owed: tried before, without success
    failed: int  # given up since the moment asked for
    last_error: Message | None

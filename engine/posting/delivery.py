"""The values of posting: subscriptions, finds, and the messages owed to chats.

Every datetime has a zone; local times are in the chat's own zone.
"""

from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum
from typing import NamedTuple

from engine.chat import Chat
from engine.feeds.feed import Story
from engine.messages import Message
from engine.search import Hit, HitKind, Prophecy

EVERY_DAY = (0, 1, 2, 3, 4, 5, 6)  # Monday is 0


class PostingMode(StrEnum):
    """When a chat is told of finds."""

    DAILY = "daily"
    INSTANT = "instant"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one chat wants to be told unprompted. Empty filters let everything through."""

    chat: Chat
    mode: PostingMode = PostingMode.DAILY
    at: time = time(9, 0)  # local time of the daily post
    weekdays: tuple[int, ...] = EVERY_DAY
    best: int = 3  # prophecies in one daily post
    threshold: HitKind = HitKind.MIRROR  # the last kind, in their order, that is posted
    unjudged: bool = False  # also post what no model judged, from unjudged_coverage up
    unjudged_coverage: float = 0.6
    say_nothing_found: bool = False
    thread: str | None = None  # topic or thread to post in
    must: tuple[str, ...] = ()  # plain words, at least one of which must occur
    must_not: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # ISO 639-1
    categories: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()  # words that occur in the names of the feeds
    compose: bool = False  # draft a tweet about the first story of a daily post
    since: datetime | None = None  # nothing older is posted
    timed_from: datetime | None = None  # no post was due before
    topic: str = ""  # the topic whose own subscription it is; "" is the chat's
    silent: bool = False  # posts make no sound


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSubscription:
    """A subscription that may be due, as it was read."""

    subscription: Subscription
    revision: int  # changes with it and with its chat
    last_decided: date | None  # the last local date that was decided, posted or not
    has_feeds: bool  # the chat has feeds of its own

    @property
    def chat(self) -> Chat:
        """The chat that is posted to."""
        return self.subscription.chat


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFind:
    """The answer of one corpus to one story. `prophecy.judged` tells whether a model judged it.

    `words` and `link_key` are those of engine.feeds.stories.StoryWords. The story `appeared_at` the
    date of its first headline, which may be in a feed that the chat does not have.
    """

    id: int
    story: Story
    corpus: str
    prophecy: Prophecy
    words: tuple[str, ...] = ()
    link_key: str | None = None
    appeared_at: datetime | None = None


class FindState(StrEnum):
    """How far a story has been processed in one corpus."""

    DULL = "dull"  # retrieval found nothing promising
    PROMISING = "promising"  # waits for the model
    UNJUDGED = "unjudged"  # the model could not be asked; it may be yet, if it is back in time
    JUDGED = "judged"


class Promising(NamedTuple):
    """A story in one corpus that is worth asking the model about."""

    story: Story
    corpus: str
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietDay:
    """What became of the news of a subscription that has nothing to tell."""

    judged: bool  # a story that it can see was judged
    waits: bool  # such a story was not, but should have been
    told: bool  # its last daily post said that nothing was judged


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedFind:
    """A find that is to be posted, with the hit that is shown.

    `apart` are the ids of stories that a model compared with its own, and told apart.
    """

    find: StoryFind
    hit: Hit
    apart: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedPost:
    """What one chat is to be told, and the date that it closes.

    `picture` and `draft` are contents of further deliveries, which follow; if one is sent again,
    the others are not. `instead` has the content of one delivery for each of `selected`; they
    replace the first, but not a draft.
    """

    subscription: Subscription
    key: str  # idempotency key of the delivery
    content: str | None  # JSON; None: nothing is posted that day
    selected: tuple[SelectedFind, ...] = ()
    picture: str | None = None
    instead: tuple[str, ...] = ()
    draft: str | None = None
    day: date | None = None  # the local date of a daily post
    asked: bool = False  # somebody in the chat asked for it, whatever its mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedTweet:
    """A tweet that was posted in a chat, or is owed to it, for a story.

    `headline`, `words`, `link_key` and `appeared_at` are the story's, as in StoryFind; `hits` are
    the ids of all texts that were good enough to be posted for it.
    """

    story_id: int | None  # None once the story has been deleted, with its words
    corpus: str
    external_id: str
    text: str
    posted_at: datetime
    kind: HitKind | None = None
    headline: str = ""
    words: tuple[str, ...] = ()
    link_key: str | None = None
    appeared_at: datetime | None = None
    hits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPost:
    """A prophecy that was posted in a chat, about a story that feeds of the settings brought."""

    story_id: int
    title: str  # of the headline, as its feed writes it
    headline: str  # its words, as they were searched for
    link: str | None
    source: str | None  # title of the feed
    published: datetime
    corpus: str
    external_id: str
    posted_at: datetime  # for the first time


class DeliveryState(StrEnum):
    """The state of a delivery."""

    OWED = "owed"
    SENT = "sent"
    FAILED = "failed"  # given up: the chat is gone, or the platform refuses it for good


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One message owed to one chat. `key` is its idempotency key, unique forever."""

    id: int
    key: str  # "daily:CHAT:2026-11-22", "story:CHAT:STORY", "notice:CHAT:FEED:failing:DATE"
    chat: Chat
    thread: str | None
    content: str  # JSON that bot.jobs writes and reads
    attempts: int  # attempts begun, this one included
    begun_before: bool  # the outcome of an earlier attempt is unknown: it may have arrived
    created_at: datetime
    silent: bool = False  # it makes no sound
    answers: tuple[int, ...] = ()  # ids of the stored answers, in the order they were chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedNotice:
    """A notice about a feed that is to be owed to one chat."""

    chat: Chat
    thread: str | None
    key: str  # unique forever
    content: str  # JSON, as in a delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedDelivery:
    """A delivery that one process may send until the lease ends."""

    delivery: Delivery
    lease: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDelivery:
    """A delivery as /history shows it."""

    key: str
    state: DeliveryState
    content: str
    created_at: datetime
    settled_at: datetime | None
    error: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxHealth:
    """What an administrator wants to know about the outbox."""

    owed: int
    oldest_owed_at: datetime | None
    retried: int  # owed ones that were tried before, without success
    failed: int  # given up since the given moment
    last_error: Message | None

"""The chats that the bot speaks in, and the answers it gave there."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, tzinfo
from enum import StrEnum
from functools import cache
from typing import Self
from zoneinfo import ZoneInfo, available_timezones

from engine.search import Headline, Hit, HitKind, Prophecy

_CONTINENTS = (
    *("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia"),
    *("Europe", "Indian", "Pacific"),
)

# Large cities that are not in the names of the zones, and those in Spanish.
_OTHER_CITIES = {
    "barcelona": "Europe/Madrid",
    "sevilla": "Europe/Madrid",
    "valencia": "Europe/Madrid",
    "londres": "Europe/London",
    "paris": "Europe/Paris",
    "roma": "Europe/Rome",
    "berlin": "Europe/Berlin",
    "lisboa": "Europe/Lisbon",
    "nueva_york": "America/New_York",
    "washington": "America/New_York",
    "boston": "America/New_York",
    "miami": "America/New_York",
    "san_francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "ciudad_de_mexico": "America/Mexico_City",
    "mexico": "America/Mexico_City",
    "cdmx": "America/Mexico_City",
    "guadalajara": "America/Mexico_City",
    "la_habana": "America/Havana",
    "medellin": "America/Bogota",
    "quito": "America/Guayaquil",
    "rosario": "America/Argentina/Buenos_Aires",
    "delhi": "Asia/Kolkata",
    "mumbai": "Asia/Kolkata",
    "beijing": "Asia/Shanghai",
}

# As platforms name it for people who have told them no city.
_LONGEST_NAME = 100  # characters of a zone or a city
_TIME_OF = re.compile(
    r"(?:la )?(?:hora(?:rio)?|zona(?: horaria)?) de |time (?:in|of) ", re.IGNORECASE
)
_UTC = frozenset({"utc", "etc/utc", "etc/uct", "etc/gmt", "gmt", "etc/universal", "etc/zulu"})
LISTENING_NAMES = ("mentions", "replies", "headlines")
# What one word stands for.
_LISTENING = {"all": LISTENING_NAMES, "mentions": LISTENING_NAMES[:2], "commands": ()}
LISTENING_WORDS = tuple(_LISTENING)


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return the zone called `name` in any case, or that of a city: "madrid", "hora de Lima"."""
    if not name or len(name) > _LONGEST_NAME:
        return None
    written = _TIME_OF.sub("", name.strip()).replace(" ", "_")
    city = _by_city().get(_fold_name(written))
    if _fold_name(written) in _UTC:
        return ZoneInfo("UTC")
    for spelling in (written, written.title(), written.upper(), *filter(None, [city])):
        try:
            return ZoneInfo(spelling)
        # The name may be a folder, a path outside the database, or anything else.
        except (KeyError, ValueError, OSError):
            continue
    return None


@cache
def _by_city() -> Mapping[str, str]:
    """Return the zones by the name of their city, in lower case."""
    zones = (zone for zone in available_timezones() if zone.startswith(_CONTINENTS))
    # Of several, which are the same under older names, the first in the alphabet.
    zone_of = {_fold_name(zone.rpartition("/")[2]): zone for zone in sorted(zones, reverse=True)}
    return {**_OTHER_CITIES, **zone_of}


def _fold_name(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name[:_LONGEST_NAME].lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def zone_or_utc(name: str) -> tzinfo:
    """Return the zone called `name`, or UTC if this machine does not know it."""
    return zone_named(name) or UTC


def format_local_time(moment: datetime, time_zone: str) -> str:
    """Return a moment in the chat's zone: "2026-11-22 09:05"."""
    return f"{moment.astimezone(zone_or_utc(time_zone)):%Y-%m-%d %H:%M}"


def say_city(zone: str) -> str:
    """Return the city of a time zone as people write it: "New York" of "America/New_York"."""
    return zone.rpartition("/")[2].replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Which plain messages in a group are answered: those that name the bot, replies to it, and
    headlines that it overhears."""

    mentions: bool = False
    replies: bool = False
    headlines: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what `str` wrote."""
        named = _LISTENING.get(text, tuple(text.split()))
        return cls(**{name: name in named for name in LISTENING_NAMES})

    def __str__(self) -> str:
        named = tuple(name for name in LISTENING_NAMES if getattr(self, name))
        short = (word for word, names in _LISTENING.items() if names == named)
        return next(short, " ".join(("only", *named)))


class PostPicture(StrEnum):
    """Which pictures come with unasked posts."""

    OFF = "off"
    ON = "on"  # that of the best tweet, after the post
    POST = "post"  # one for each tweet, with the post as its caption


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """One chat with its settings. With `language` None, the sender's language is used."""

    id: int
    platform: str
    external_id: str
    private: bool
    title: str | None = None
    language: str | None = None
    time_zone: str = "UTC"
    corpus: str | None = None  # None = the configured one
    listening: Listening = Listening(mentions=True, replies=True)
    threshold: HitKind = HitKind.MIRROR  # the last kind of which the bot speaks unasked
    quiet_from: time | None = None  # local time; the bot does not speak unasked until quiet_to
    quiet_to: time | None = None
    picture: PostPicture = PostPicture.OFF
    full_answers: bool = False  # rather than short ones
    asked_in: str | None = None  # language of the subscriber, else of whoever first wrote
    active: bool = True  # False: the bot was blocked or removed

    @property
    def key(self) -> str:
        """The id, unique across platforms; the settings name chats by it."""
        return f"{self.platform}:{self.external_id}"

    @property
    def posts_in(self) -> str | None:
        """The language of what is posted unasked, or None if it is not known."""
        return self.language or self.asked_in


@dataclass(frozen=True, slots=True, kw_only=True)
class BotOwner:
    """Who owns the bot on one platform, and the private chat in which to reach that person."""

    platform: str
    person: str
    chat: str
    language: str = "en"


class AdmissionState(StrEnum):
    """What became of a chat's wish to use the bot."""

    ASKED = "asked"
    ALLOWED = "allowed"
    REFUSED = "refused"


class AskOutcome(StrEnum):
    """What became of a stranger's request to be let in."""

    ASKED = "asked"  # now
    WAITS = "waits"  # asked before
    FULL = "full"  # too many wait, and the owner is not asked
    UNREACHABLE = "unreachable"  # there is no owner, or no message reaches them


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A chat that asked the owner for leave; a person's private chat stands for the person."""

    platform: str
    external_id: str
    title: str | None
    language: str
    state: AdmissionState
    broadcast: bool = False  # everybody reads what is said there
    changed: bool = True  # by the decision that returns it
    message: str | None = None  # the last that was written there meanwhile, until it is decided
    thread: str | None = None  # of the message
    message_at: datetime | None = None

    @property
    def name(self) -> str:
        """The name of the chat, as the settings write it."""
        return f"{self.platform}:{self.external_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of somebody who writes. `owned`: the bot has an owner on this platform."""

    owned: bool = False
    owns: bool = False
    state: AdmissionState | None = None  # the best of those of the person and of the chat


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer in a chat, and the page of it that was shown last: `first` up to `last`.

    The pages of near texts follow those of the hits. There is always at least one page of hits.
    """

    prophecy: Prophecy
    asked_at: datetime
    first: int
    last: int
    id: int | None = None  # once stored

    def page_at(self, first: int) -> Self:
        """Return the same answer with the page of the same size that starts at index `first`."""
        return replace(self, first=first, last=first + self.last - self.first)

    def page_named(self, first: str) -> Self | None:
        """Return `page_at` for an index from a button, or None unless a page begins there."""
        end = self._near_from + len(self.prophecy.near)
        starts = range(0, end, self.last - self.first)
        pages = (self.page_at(start) for start in starts if str(start) == first)
        return next((page for page in pages if page.page), None)

    @property
    def page(self) -> tuple[Hit, ...]:
        """The hits or near texts that were shown last."""
        if self.is_near:
            begin = self._near_from
            return self.prophecy.near[self.first - begin : self.last - begin]
        return self.prophecy.hits[self.first : self.last]

    @property
    def shown_hits(self) -> tuple[Hit, ...]:
        """Everything up to the end of the current page."""
        near = self.prophecy.near[: max(self.last - self._near_from, 0)]
        return (*self.prophecy.hits[: self.last], *near)

    @property
    def is_near(self) -> bool:
        """True if the page shows near texts rather than hits."""
        return self.first >= self._near_from

    @property
    def _near_from(self) -> int:
        """Return the index of the first page of near texts."""
        size = self.last - self.first
        return max(-(-len(self.prophecy.hits) // size), 1) * size


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Votes on one hit."""

    up: int = 0
    down: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourite:
    """A hit that a chat voted for, with its headline."""

    headline: Headline
    corpus: str
    hit: Hit
    asked_at: datetime
    tally: Tally

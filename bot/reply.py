"""Replies of command handlers, independent of the platform. Adapters render them."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from bot.i18n.words import Words, marked
from engine.prophecy.score import Sureness
from engine.search import Candidate, HitKind
from engine.values import DateKind

if TYPE_CHECKING:  # not needed to show a reply
    from bot.request import Request
    from engine.chat import Answer

_MARKS = {
    "repost": marked("repost"),
    "quote": marked("quote"),
    "reply": marked("reply"),
    "truncated": marked("cut"),
    "deleted": marked("deleted"),
    "recognised": marked("read from a picture"),
}
_KINDS = {
    HitKind.PREDICTION: marked("foretold"),
    HitKind.DEMAND: marked("asked for it"),
    HitKind.MIRROR: marked("held against others"),
    HitKind.EARLIER_CASE: marked("has happened before"),
}
# Of a hit whose kind is not known.
_SURENESS = {
    Sureness.FORETOLD: _KINDS[HitKind.PREDICTION],
    Sureness.CLOSE: marked("close"),
    Sureness.PERHAPS: marked("perhaps"),
}
# What stands beside a text, by the name that it was stored under.
_BESIDE = {
    "image": marked("picture"),
    "link": marked("link"),
    "poll": marked("poll"),
    "shared": marked("shared"),
    "quoted": marked("quoted"),
    "attached": marked("attached"),
    "file": marked("file"),
    "place": marked("place"),
    "event": marked("event"),
}
_SEPARATOR = ":"
_LONGEST_ACTION = 64  # bytes
_LARGEST_ID = 2**63 - 1

LONGEST_SMALL = 140  # characters of a hit that is shown in one line
MAX_HITS = 15  # fits in one message on every platform
VOTE_UP = "up"  # the action of a button
_DATED_BY = {
    DateKind.CREATED: marked("file made {date}"),
    DateKind.MODIFIED: marked("changed {date}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """The action of a button. Its text form has at most 64 bytes, as platforms require."""

    name: str
    answer_id: int | None = None
    value: str = ""

    def __post_init__(self) -> None:
        if not self.fits(str(self)):
            raise ValueError(f"an action of more than {_LONGEST_ACTION} bytes")

    @staticmethod
    def fits(written: str) -> bool:
        """Return whether the text form of an action is short enough."""
        return len(written.encode("utf-8", "replace")) <= _LONGEST_ACTION

    def __str__(self) -> str:
        return _SEPARATOR.join((self.name, str(self.answer_id or ""), self.value))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the output of `str`; return None for anything else that a platform may send."""
        name, *rest = text.split(_SEPARATOR, 2)
        if len(rest) != 2 or not name.isidentifier() or not cls.fits(text):
            return None
        answer_id, value = rest
        if not answer_id:
            return cls(name=name, value=value)
        # Only what `str` writes: ASCII digits, no leading zeros, within the range of the column.
        if not (answer_id.isascii() and answer_id.isdigit()) or answer_id[0] == "0":
            return None
        if int(answer_id) > _LARGEST_ID:
            return None
        return cls(name=name, answer_id=int(answer_id), value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A label and its action."""

    label: str
    action: Action


def format_signature(voice: str | None, author: str | None, *, in_item: bool = False) -> str | None:
    """Return the display name of an author, or the account with its @, or None.

    Who wrote an item of a library is named as it says, and what holds a space is no account.
    """
    if voice or not author or in_item or " " in author:
        return voice or author
    return f"@{author.removeprefix('@')}"


def say_date(moment: datetime | None, dated_by: DateKind | None, words: Words) -> str:
    """Return the date of a text and what it tells, or "" if nothing tells when it was written."""
    if moment is None:
        return ""
    date = words.date(moment.astimezone(UTC))
    return words.say(_DATED_BY[dated_by], date=date) if dated_by else date


def name_flags(flags: Iterable[str], words: Words) -> tuple[str, ...]:
    """Return what to say beside a text with these flags: whose words it holds, what became of it.

    They stay with a text wherever it is shown, as a quoted fan would stand there as its author.
    """
    return tuple(words.say(_MARKS[flag]) for flag in flags if flag in _MARKS)


def name_beside(found: Candidate, words: Words) -> tuple[str, ...]:
    """Return what stands beside a text and is not its words: "[picture: A heron on the quay]"."""
    pairs = (line.partition(": ")[::2] for line in found.beside)
    return tuple(
        f"[{words.say(_BESIDE[name]) if name in _BESIDE else name}: {what}]"
        for name, what in pairs
        if what not in found.text
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """One found text as it is shown to a person."""

    rank: int
    text: str  # as written
    author: str | None
    date: datetime | None
    date_text: str  # "March 14, 2012", in the reader's language; "" without a date
    url: str | None
    flags: tuple[str, ...]  # names of engine.values.Flag
    age: str = (
        ""  # "8 years, 9 months before", in the reader's language; "" if it follows no headline
    )
    kind: HitKind | None = None
    sureness: Sureness | None = None  # None if it is only near, not a hit
    label_unjudged: bool = False  # say beside the text that no model judged it
    why: str | None = None  # the model's reason; untrusted text, to be escaped
    beside: tuple[str, ...] = ()  # what is not its words: "[picture: A heron on the quay]"
    small: bool = False  # shown in one line, below a better one
    signed: bool = False  # a small one names its author too, as whole ones always do
    voice: str | None = None  # display name of the archive's voice
    place: str | None = None  # "Title, p. 12", for a part of an item

    @classmethod
    def of(cls, candidate: Candidate, words: Words, *, rank: int, text: str) -> Self:
        """Return the view of a text that is shown as `text`, without age and judgment."""
        return cls(
            rank=rank,
            text=text,
            author=candidate.author,
            voice=candidate.voice,
            date=candidate.created_at,
            date_text=say_date(candidate.created_at, candidate.dated_by, words),
            url=candidate.url,
            flags=candidate.flags.names,
            beside=name_beside(candidate, words),
        )

    @property
    def signature(self) -> str | None:
        """The name of the author as shown to people: the display name or the account."""
        return format_signature(self.voice, self.author, in_item=self.place is not None)

    @property
    def introduction(self) -> tuple[str, ...]:
        """What the line of a small one says before its date, if any: author, place and age."""
        author = self.signature if self.signed else None
        return tuple(filter(None, (author, self.place, self.age)))

    def stamp(self, words: Words) -> str:
        """Return what kind of find it is, or how sure one that has none; "" if it is only near."""
        if self.kind:
            return words.say(_KINDS[self.kind])
        return words.say(_SURENESS[self.sureness]) if self.sureness else ""

    def marks(self, words: Words) -> tuple[str, ...]:
        """Return the labels shown beside the text: where it stands, what it is to the headline.

        A small one has its kind alone, and those of the text itself.
        """
        stamp = self.stamp(words)
        if self.small:
            return (*((stamp,) if self.kind else ()), *name_flags(self.flags, words))
        sure = (stamp,) if stamp else ()
        unjudged = (words.say("not judged"),) if self.label_unjudged else ()
        place = (self.place,) if self.place else ()
        return (*place, *sure, *unjudged, *name_flags(self.flags, words))

    def remarks(self, words: Words) -> tuple[str, ...]:
        """Return the lines below the text: what stands beside it, and the model's reason."""
        return tuple(filter(None, (" ".join(self.beside), self.reason(words))))

    def reason(self, words: Words) -> str | None:
        """Return the model's reason, attributed to the model."""
        return None if self.why is None else words.say("Why: {reason}", reason=self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One story of a post and the text that foretold it."""

    headline: str
    link: str | None  # of the story; http(s)
    hit: HitView  # its rank is the number of the item


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer: a headline and its hits, or text, or both, in the language of `words`."""

    words: Words
    headline: str | None = None
    text: str | None = None
    hits: tuple[HitView, ...] = ()
    items: tuple[ItemView, ...] = ()  # of a post, each with its own headline
    notice: str | None = None  # a remark about how this was found
    buttons: tuple[tuple[Button, ...], ...] = ()  # rows
    inert: bool = False  # holds words of others: only an address on a line of its own is a link
    copies: tuple[str, ...] = ()  # parts of the text that people copy, in order: shown as they are
    picture: bytes | None = None  # PNG; the rest is its caption, which does not repeat its tweet
    silent: bool = False  # makes no sound, where the platform supports that
    picture_name: str = "prophecy.png"
    ephemeral: bool = False  # visible to the asker alone, where the platform supports it
    replaces: bool = False  # answers a button by editing the message that carries it
    writes: int | None = None  # the task whose outcome will take the place of this message
    stops: int | None = None  # the task that is to be under way no more when this is shown
    toast: str | None = None  # answers a button with a transient notice; nothing is sent
    follow_ups: "tuple[Request, ...]" = ()  # what waited for this, and is answered after it
    reaction: str = ""  # a smiley that answers a message without words; nothing else is sent
    shows: "Answer | None" = None  # the page that the message shows, once stored
    # Of an unfinished answer: waits for what is to take its place, None if it is to stay.
    finish: "Callable[[], Awaitable[Reply | None]] | None" = None


def reply_aside(request: "Request", text: str) -> Reply:
    """Return a short reply to the asker alone: a toast for a button, otherwise a message."""
    from bot.request import Trigger  # noqa: PLC0415 - as above

    if request.trigger is Trigger.BUTTON:
        return Reply(words=request.words, toast=text, ephemeral=True)
    return Reply(words=request.words, text=text, ephemeral=True)

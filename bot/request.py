"""Events as platform-independent requests: who says what, and where; how platforms differ."""

import re
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bot.i18n.words import Words, words_for
from engine.corpora import require_zone
from engine.text.clean import make_storable

if TYPE_CHECKING:
    from engine.chat import Chat

# Files that are no export of anybody's texts.
_MEDIA = frozenset(
    (
        *(".jpg", ".jpeg", ".png", ".gif", ".webp", ".heic", ".heif", ".bmp", ".svg", ".tgs"),
        *(".mp3", ".m4a", ".aac", ".ogg", ".oga", ".opus", ".wav", ".flac"),
        *(".mp4", ".mov", ".m4v", ".webm", ".avi", ".mkv"),
    )
)
_LONGEST = 10_000  # characters; a headline is read from the first 2,000

# A path such as /r/politics is not a command, and neither is "/ 5".
_COMMAND = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)


class Trigger(StrEnum):
    """Why the event reached the bot."""

    OVERHEARD = "overheard"  # a message in a group that is not addressed to the bot
    ADDRESSED = "addressed"  # a private message, a mention, a shortcut
    REPLY = "reply"  # a message in a group that replies to one of the bot's
    COMMAND = "command"
    BUTTON = "button"  # the text is what Action.parse reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a platform differs for the commands and replies that all of them share; the defaults are
    what is usual, and a platform that differs has a row of its own in _TRAITS."""

    only_command: str = ""  # is written before each command whose name is not `distinctive`
    shows_privately: bool = False  # a message to one person alone, in a group
    has_chat_admins: bool = True  # rather than those of the whole workspace
    shows_replies: bool = True  # tells which message one replies to, without a name in it
    example_id: str = "42"  # of a person


_TRAITS: Mapping[str, Traits] = {
    "slack": Traits(
        only_command="/presagio",
        shows_privately=True,
        has_chat_admins=False,
        shows_replies=False,  # a thread is everybody's
        example_id="U024BE7LH",
    ),
}


def traits_of(platform: str) -> Traits:
    """Return how a platform differs."""
    return _TRAITS.get(platform, Traits())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an event happened. `thread` is the platform's id of a topic or thread.

    A place without a chat (inline mode) has `kept` false, and nothing about it is stored. What its
    admins alone write and everybody reads, such as a channel of Telegram, is a `broadcast`.
    """

    platform: str
    chat_id: str
    private: bool
    thread: str | None = None
    title: str | None = None
    kept: bool = True
    broadcast: bool = False

    @property
    def key(self) -> str:
        """The chat's id, unique across platforms; the settings name chats by it."""
        return f"{self.platform}:{self.chat_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who caused an event. `language` is the ISO 639-1 code that the platform gives."""

    id: str
    name: str = ""  # as people see it; "" if the platform does not say
    language: str = "en"
    time_zone: str | None = None
    bot: bool = False
    myself: bool = False  # the bot's own message
    as_chat: bool = False  # speaks as a chat: `id` is the chat's, the person is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class RepliedMessage:
    """The message that another one replies to."""

    text: str = ""
    message: str | None = None  # the platform's id
    written_at: datetime | None = None
    mine: bool = False  # the bot has written it
    buttons: Sequence[str] = ()  # the bot's, under that message: what Action.parse reads


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """A file beside a message. `fetch` writes it to a path, and raises DeliveryError; the platform
    gives at most `largest` bytes of it, if it says."""

    name: str
    size: int
    fetch: Callable[[Path], Awaitable[None]]
    largest: int | None = None

    @property
    def is_archive(self) -> bool:
        """Whether it may be an export of somebody's texts: no picture, sound or video."""
        return Path(self.name).suffix.lower() not in _MEDIA


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What happened to an earlier message: it was edited, or deleted."""

    event_id: str  # of the message
    deleted: bool = False


async def _ask_nobody() -> bool:
    return False


async def _is_true() -> bool:
    return True


async def _find_no_channel(name: str) -> Place | None:
    """Return None: the platform has no channels that are named in private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiries:
    """What can be asked of the platform about the person, and about the bot in the chat.

    `hears_all` returns False if the platform may show the bot only commands and replies there,
    `may_post` if the bot can answer there but post nothing by itself.
    `find_channel` returns the channel of that name, in which the person and the bot may post, or
    None if the platform has none that are named in private. It raises UsageError if one of them
    may not, and DeliveryError if the platform does not answer.
    """

    is_admin: Callable[[], Awaitable[bool]] = _ask_nobody
    find_channel: Callable[[str], Awaitable[Place | None]] = _find_no_channel
    hears_all: Callable[[], Awaitable[bool]] = _is_true
    may_post: Callable[[], Awaitable[bool]] = _is_true


class Hint(Enum):
    """What a plain message is answered with in place of a search."""

    NONE = auto()
    WELCOME = auto()  # after thanks
    ANOTHER = auto()  # after a remark: to send another headline
    GREETING = auto()
    HELP = auto()  # what to send
    ABOUT = auto()  # what the bot is, and what to send
    SEARCH = auto()  # the same, and how to search for what was written all the same
    SLASH = auto()  # a command that was written without its slash
    INSTRUCTION = auto()  # the command that does what was asked for
    GUESS = auto()  # the command that may do it
    PRIVACY = auto()  # what is kept, and the command that deletes it
    DELETION = auto()  # who can delete what the bot said


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAnswer:
    """How a plain message is answered: by a search, with the sources of an answer, with a hint, or
    with no more than a reaction, which may be none."""

    searches: bool = False
    shows_sources: bool = False
    rank: int | None = None  # of the text whose source is asked for, if one is named
    hint: Hint = Hint.NONE
    command: str = ""  # that the hint names
    reaction: str = ""
    is_question: bool = False  # about what the bot said, holds or does


def _ignore_step(step: str) -> None:
    """Show no steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One event. The adapter has removed the bot's name from text and command."""

    event_id: str  # the same whenever the platform delivers the event again
    place: Place
    person: Person
    trigger: Trigger
    text: str
    now: datetime
    written_at: datetime | None = None  # when the text was written, if before the event
    quoted: RepliedMessage = RepliedMessage()
    around_name: tuple[str, str] | None = None  # the words before and after the bot's, if amid some
    one_of_several: bool = False  # in private, others were written within a minute
    unclear: bool = False  # a model tells what it asks or tells the bot, if anything
    hurried: bool = False  # in a group, its person was still being answered
    unreadable: bool = False  # a picture, a voice or a file, without a word
    attachment: SentFile | None = None  # in private, the file that came with it
    revision: Revision | None = None
    step: Callable[[str], None] = _ignore_step  # tells what a slow answer waits for
    needs_step: bool = False  # only a step can show that an answer is being prepared
    patience: float | None = None  # seconds to wait for what can change the answer afterwards
    inquiries: Inquiries = Inquiries()
    origin: object = None  # used only by the adapter that made the request
    plain_answer: PlainAnswer | None = None  # set once a message that is no command was read
    chat: "Chat | None" = None  # set by the gates
    owner: bool = False  # the person owns the bot; set by the gates
    words: Words = field(default_factory=lambda: words_for("en"))

    def __post_init__(self) -> None:
        require_zone(self.now)
        for moment in (self.written_at, self.quoted.written_at):
            if moment:
                require_zone(moment)

    @property
    def known_chat(self) -> "Chat":
        """The chat. Raises LookupError before the gates have set it."""
        if self.chat is None:
            raise LookupError("the gates have not been passed")
        return self.chat

    def strip_unstorable(self) -> Self:
        """Return a copy without unstorable characters, its text cut to 10,000 characters."""
        title, around = make_storable(self.place.title or "") or None, self.around_name
        return replace(
            self,
            # A NUL byte between words becomes a space.
            text=_clean_text(self.text),
            quoted=replace(self.quoted, text=_clean_text(self.quoted.text)),
            around_name=around and (_clean_text(around[0]), _clean_text(around[1])),
            place=replace(self.place, title=title),
            person=replace(self.person, name=make_storable(self.person.name)),
        )

    def with_quoted(self) -> Self:
        """Return a copy whose text, if it is empty, is that of the message it replies to."""
        if self.text or not self.quoted.text:
            return self
        return replace(self, text=self.quoted.text, written_at=self.quoted.written_at)

    @property
    def command_call(self) -> tuple[str, str] | None:
        """The command in the text, in lower case, and its argument; None if there is no command."""
        match = _COMMAND.fullmatch(self.text.strip())
        return (match[1].lower(), (match[2] or "").strip()) if match else None

    @property
    def brings_archive(self) -> bool:
        """Whether the owner sends an archive in private, which may be loaded."""
        private = self.owner and self.place.private and self.revision is None
        return private and self.attachment is not None and self.attachment.is_archive

    @property
    def is_public(self) -> bool:
        """Whether everybody reads the reply: about rights, nothing is said there. The toast of a
        button is for its presser alone."""
        return self.place.broadcast and self.trigger is not Trigger.BUTTON

    @property
    def wants_brief_answer(self) -> bool:
        """Whether answers in this place are short. Inline, the asker's text is not shown."""
        return self.place.kept and not self.known_chat.full_answers

    @property
    def is_deletion(self) -> bool:
        """Whether a message was deleted."""
        return self.revision is not None and self.revision.deleted

    def words_to_asker(self, operators: Container[str]) -> Words:
        """Return the words for the asker: the owner and `operators` ("platform:id") are told in
        private what only they can mend."""
        runs_me = self.place.private and (self.owner or self.who in operators)
        return words_for(self.words.language, operator=runs_me)

    @property
    def answered_event(self) -> str:
        """The event that is answered: after an edit, still that of the message."""
        return self.revision.event_id if self.revision else self.event_id

    @property
    def quoted_event(self) -> str | None:
        """The event of the message that this one replies to, or None."""
        quoted = self.quoted.message
        return message_event(self.place.chat_id, quoted) if quoted else None

    @property
    def in_quoted_thread(self) -> bool:
        """Whether the message is in a thread that hangs on the one it replies to."""
        return self.quoted.message is not None and self.quoted.message == self.place.thread

    @property
    def event(self) -> tuple[str, str]:
        """The unique key of the event: platform and event id."""
        return self.place.platform, self.event_id

    @property
    def payer(self) -> str:
        """The name under which quotas are charged: that of the person.

        All who speak as a chat share one quota per place, because anybody can create many chats.
        """
        name = self.place.chat_id if self.person.as_chat else self.person.id
        return f"{self.place.platform}:{name}"

    @property
    def who(self) -> str:
        """The person's id, unique across platforms."""
        return f"{self.place.platform}:{self.person.id}"

    @property
    def listed_as(self) -> str:
        """The name to look for in the lists of the settings: that of the chat, or inline, where
        there is none, of the person."""
        return self.place.key if self.place.kept else self.who


def message_event(chat_id: str, message: object) -> str:
    """Return the event id of a message, from the platform's id of it."""
    return f"{chat_id}:{message}"


def split_around(text: str, name: re.Pattern[str]) -> tuple[str, str] | None:
    """Return what stands before and after a name amid other words: "I asked @bot about that"."""
    before, *after = (part.strip() for part in name.split(text))
    rest = " ".join(filter(None, after)).lstrip(",:;.?! ")
    return (before, rest) if before and rest.strip("?!., ") else None


def _clean_text(text: str) -> str:
    # People copy what the bot wrote, with the word joiners that keep its names from being mentions.
    return make_storable(text[:_LONGEST].replace("\0", " ").replace("\u2060", "")).strip()

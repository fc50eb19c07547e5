"""What a face makes of an event: who says what, where, in the terms of no platform."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from bot.i18n.words import Words, words_for
from engine.chat import Chat
from engine.documents import require_zone
from engine.text.clean import storable

_LONGEST = 10_000  # characters; a headline is read from the first 2,000

# A path such as /r/politics is no command, and neither is "/ 5".
_COMMAND = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)


class Trigger(StrEnum):
    """What made the event reach the bot."""

    OVERHEARD = "overheard"  # a message in a group that does not speak to the bot
    ADDRESSED = "addressed"  # a private message, a mention, a reply to the bot, a shortcut
    COMMAND = "command"
    BUTTON = "button"  # the text is what Action.parse reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an event happened. `thread` is the platform's id of a topic or thread.

    Where no chat stands behind a place (inline mode), nothing about it is kept.
    """

    platform: str
    chat_id: str
    private: bool
    thread: str | None = None
    title: str | None = None
    kept: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who caused an event. `language` is ISO 639-1 as the platform says."""

    id: str
    language: str = "en"
    time_zone: str | None = None
    bot: bool = False
    myself: bool = False  # the bot's own message
    as_chat: bool = False  # speaks in the name of a chat: `id` is the chat's, and who it is unknown


async def _nobody() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One event. A face has removed its own name from text and command."""

    event_id: str  # the same whenever the platform delivers the event again
    place: Place
    person: Person
    trigger: Trigger
    text: str
    now: datetime
    written_at: datetime | None = None  # the text, where somebody wrote it before the event
    edited: bool = False
    is_admin: Callable[[], Awaitable[bool]] = _nobody  # asks the platform
    origin: object = None  # for the face that made the request alone
    chat: Chat | None = None  # known once the gates are passed
    words: Words = field(default_factory=lambda: words_for("en"))

    def __post_init__(self) -> None:
        require_zone(self.now)
        if self.written_at:
            require_zone(self.written_at)

    @property
    def known_chat(self) -> Chat:
        """The chat; only behind the gates."""
        if self.chat is None:
            raise LookupError("the gates have not been passed")
        return self.chat

    def cleaned(self) -> Self:
        """The same without what cannot be stored, and no longer than anything worth reading."""
        title = storable(self.place.title or "") or None
        return replace(
            self,
            # Between words, a zero byte stands for a blank.
            text=storable(self.text[:_LONGEST].replace("\0", " ")).strip(),
            place=replace(self.place, title=title),
        )

    @property
    def called(self) -> tuple[str, str] | None:
        """The command in the text, in lower case, and what follows it; None without one."""
        found = _COMMAND.fullmatch(self.text.strip())
        return (found[1].lower(), (found[2] or "").strip()) if found else None

    @property
    def event(self) -> tuple[str, str]:
        """What tells this event from all others."""
        return self.place.platform, self.event_id

    @property
    def payer(self) -> str:
        """Whose quota this is: the person's. Those who speak in the name of chats, of which
        anybody may make many, share one in each place.
        """
        name = self.place.chat_id if self.person.as_chat else self.person.id
        return f"{self.place.platform}:{name}"

    @property
    def who(self) -> str:
        """The person, unique across platforms."""
        return f"{self.place.platform}:{self.person.id}"

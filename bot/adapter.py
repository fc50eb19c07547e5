"""The interface that a platform implements, and how platforms differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from bot.reply import Reply
from bot.request import Request
from engine.chat import Chat
from engine.errors import PresagioError
from engine.messages import Message


class DeliveryError(PresagioError):
    """A reply was not delivered, or it is unknown whether it was."""


class ChatGone(DeliveryError):
    """The bot was blocked or removed, or the chat does not exist any more."""


class SlowDown(DeliveryError):
    """The platform asks to wait some seconds; the message was not shown."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The platform asks to wait for {seconds:g} s.")
        self.seconds = seconds


class DeliveryRefused(DeliveryError):
    """The message was not shown, and the same one never will be."""


class WritingForbidden(DeliveryError):
    """The chat or topic does not let the bot write for now; the message was not shown."""

    plain = Message("This chat does not let me write for now.")


class Unsure(DeliveryError):
    """It is unknown whether the message was shown."""


class PlatformFailed(Unsure):
    """The platform answered that it failed (5xx): most such messages were not shown."""


class AdapterFailed(PresagioError):
    """A platform could not be started."""


class TokenRefused(AdapterFailed):
    """The platform does not accept the tokens that are set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterStatus:
    """Whether an adapter is receiving events now, and how: "polling", "Socket Mode"."""

    listening: bool
    way: str

    def __str__(self) -> str:
        return f"listening ({self.way})" if self.listening else f"not listening ({self.way})"


class Adapter(Protocol):
    """Delivers replies on one platform. It renders them and makes no decisions."""

    @property
    def platform(self) -> str:
        """The name of the platform, as in Place.platform."""

    async def show_busy(self, request: Request) -> None:
        """Show that an answer is being prepared. Never raises."""

    async def show_step(self, request: Request, text: str, shown: str | None) -> str | None:
        """Show what a slow answer waits for, in place of the step `shown` before.

        Return the id of the message, "" if it cannot be changed, so that no step follows it, or
        None if it is not a message. Never raises.
        """

    async def deliver(self, request: Request, reply: Reply) -> str | None:
        """Show the reply where the request came from. Raises DeliveryError, ChatGone.

        Return the id of its message if that can be changed later, or the ids of all messages that
        it was split into, separated by spaces: such names are what the others take.
        """

    async def change(self, request: Request, message: str, reply: Reply) -> str:
        """Show the reply in place of what a message says. Raises DeliveryError, ChatGone.

        Return what `deliver` does.
        """

    async def delete(self, request: Request, message: str) -> None:
        """Delete a message. Raises DeliveryError, ChatGone."""


@runtime_checkable
class Poster(Protocol):
    """Posts messages in a chat that are not answers to a request."""

    @property
    def platform(self) -> str:
        """The name of the platform, as in Chat.platform."""

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:
        """Show the reply once, as one message, and return the platform's id for it.

        `key` identifies the message; where the platform can store it, `find_posted` finds the
        message by it. Raises ChatGone, SlowDown, DeliveryRefused, Unsure, and a plain DeliveryError
        if the message was not shown and may be tried again.
        """

    async def find_posted(
        self, chat: Chat, thread: str | None, key: str, since: datetime
    ) -> str | None:
        """Return the id of the message that was posted with `key` since then.

        None if there is none, or if the platform cannot be queried. Raises DeliveryError if it
        was queried and did not answer.
        """

    async def close(self) -> None:
        """Close the connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is usual; a platform that differs has a row of its own in _TRAITS."""

    only_command: str = ""  # is written before each command whose name is not `distinctive`
    shows_privately: bool = False  # a message to one person alone, in a group
    has_chat_admins: bool = True  # rather than those of the whole workspace
    example_id: str = "42"  # of a person


_TRAITS: Mapping[str, Traits] = {
    "slack": Traits(
        only_command="/presagio",
        shows_privately=True,
        has_chat_admins=False,
        example_id="U024BE7LH",
    ),
}


def traits_of(platform: str) -> Traits:
    """Return how a platform differs."""
    return _TRAITS.get(platform, Traits())

"""What a platform has to be able to do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from bot.face.reply import Reply
from bot.face.request import Request
from engine.chat import Chat
from engine.errors import PresagioError


class DeliveryError(PresagioError):
    """A reply could not be delivered, or nobody knows whether it was."""


class ChatGone(DeliveryError):
    """The bot was blocked or removed, or the chat does not exist any more."""


class SlowDown(DeliveryError):
    """The platform asks to wait for some seconds; the message was not shown."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The platform asks to wait for {seconds:g} s.")
        self.seconds = seconds


class Refused(DeliveryError):
    """The message was not shown, and the same one never will be."""


class Unsure(DeliveryError):
    """Nobody knows whether the message was shown."""


class FaceFailed(PresagioError):
    """A platform could not be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceStatus:
    """Whether a face hears anything just now, and in which way: "polling", "Socket Mode"."""

    listening: bool
    way: str

    def __str__(self) -> str:
        return f"listening ({self.way})" if self.listening else f"not listening ({self.way})"


class Face(Protocol):
    """One way in and out. It renders replies; it decides nothing."""

    @property
    def platform(self) -> str:
        """Name of the platform, as in Place.platform."""

    async def show_busy(self, request: Request) -> None:
        """Give a sign of life while the answer is made. Never raises."""

    async def deliver(self, request: Request, reply: Reply) -> None:
        """Show the reply where the request came from. Raises DeliveryError, ChatGone."""


@runtime_checkable
class Poster(Protocol):
    """Says something in a chat that nobody asked for."""

    @property
    def platform(self) -> str:
        """Name of the platform, as in Chat.platform."""

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:
        """Show the reply once, as one message, and return the platform's id of it.

        `key` tells the message from all others; where the platform can keep it, `find_posted`
        finds the message by it. Raises ChatGone, SlowDown, Refused, Unsure, and a plain
        DeliveryError where the message was not shown and may be tried again.
        """

    async def find_posted(
        self, chat: Chat, thread: str | None, key: str, since: datetime
    ) -> str | None:
        """Return the id of the message that was shown under `key` since then.

        None when there is none, or when the platform cannot be asked. Raises DeliveryError when
        it could be asked and did not answer.
        """

    async def close(self) -> None:
        """Close the connections."""

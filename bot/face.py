"""What a platform has to be able to do."""

from typing import Protocol

from bot.reply import Reply
from bot.request import Request
from engine.errors import PresagioError


class DeliveryError(PresagioError):
    """A reply could not be delivered, or nobody knows whether it was."""


class ChatGone(DeliveryError):
    """The bot was blocked or removed, or the chat does not exist any more."""


class FaceFailed(PresagioError):
    """A platform could not be started."""


class Face(Protocol):
    """One way in and out. It renders replies; it decides nothing."""

    @property
    def platform(self) -> str:
        """Name of the platform, as in Place.platform."""

    async def show_busy(self, request: Request) -> None:
        """Give a sign of life while the answer is made. Never raises."""

    async def deliver(self, request: Request, reply: Reply) -> None:
        """Show the reply where the request came from. Raises DeliveryError, ChatGone."""

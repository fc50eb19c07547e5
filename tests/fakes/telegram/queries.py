"""Pressed buttons and inline queries, and what the bot answered to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.telegram.keyboards import Keyboard
from tests.fakes.telegram.messages import Message
from tests.fakes.telegram.text import Formatted
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from tests.fakes.telegram.people import User
    from tests.fakes.telegram.updates import Update


@dataclass(frozen=True, slots=True)
class PressAnswer:
    """What answerCallbackQuery showed: a line at the top, or a box to close."""

    text: str
    alert: bool


@dataclass(eq=False)
class Press:
    """A button pressed; the person sees a spinner until it is answered."""

    id: str
    user: "User"
    message: Message
    data: str
    update: "Update | None" = None
    answers: list[PressAnswer] = field(default_factory=list)

    async def answered(self, timeout: float = PATIENCE) -> PressAnswer:
        """The first answer; AssertionError when the spinner goes on."""
        try:
            return (await self.user.world.signal.until(lambda: self.answers, timeout))[0]
        except TimeoutError:
            raise AssertionError(f"{self.data!r} was not answered within {timeout} s") from None

    def payload(self) -> dict[str, Any]:
        """The CallbackQuery object."""
        about = {"id": self.id, "from": self.user.payload(), "data": self.data}
        about["chat_instance"] = str(7_000_000_000 + abs(self.message.chat.id))
        if self.message.inline_message_id:
            return about | {"inline_message_id": self.message.inline_message_id}
        return about | {"message": self.message.payload()}


@dataclass(frozen=True, slots=True)
class InlineResult:
    """One line of the list, and the message it would become."""

    id: str
    title: str
    body: Formatted
    keyboard: Keyboard
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InlineAnswer:
    """What answerInlineQuery offered."""

    results: Sequence[InlineResult]
    cache_time: int
    is_personal: bool
    button: Mapping[str, Any] | None


@dataclass(eq=False)
class InlineQuery:
    """A person typing behind the bot's name."""

    id: str
    user: "User"
    query: str
    offset: str
    where: str
    asked_at: float
    update: "Update | None" = None
    answers: list[InlineAnswer] = field(default_factory=list)

    async def answered(self, timeout: float = PATIENCE) -> InlineAnswer:
        """The list that appears above the keyboard."""
        try:
            return (await self.user.world.signal.until(lambda: self.answers, timeout))[0]
        except TimeoutError:
            raise AssertionError(f"@bot {self.query!r}: no results in {timeout} s") from None

    def payload(self) -> dict[str, Any]:
        """The InlineQuery object."""
        return {
            "id": self.id,
            "from": self.user.payload(),
            "query": self.query,
            "offset": self.offset,
            "chat_type": self.where,
        }

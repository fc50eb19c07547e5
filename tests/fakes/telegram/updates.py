"""The queue of updates: held for polls, acknowledged by offset, handed out again until then."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.stand_in import Changes
from tests.fakes.telegram.errors import conflict

if TYPE_CHECKING:
    from tests.fakes.telegram.chats import Chat
    from tests.fakes.telegram.messages import Message

MAX_AT_ONCE = 100
# Sent only to a bot that names them.
UNASKED = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_FIRST_ID = 700_000_001


@dataclass(eq=False)
class Update:
    """One event for the bot, and what the bot made of it."""

    id: int
    kind: str
    content: Any
    chat: "Chat | None" = None
    message: "Message | None" = None
    deliveries: int = 0
    answers: "list[Message]" = field(default_factory=list)
    again: bool = False

    def payload(self) -> dict[str, Any]:
        return {"update_id": self.id, self.kind: self.content}


class UpdateQueue:
    """Updates in order of their ids."""

    def __init__(self, signal: Changes) -> None:
        self.all: dict[int, Update] = {}
        self.pending: dict[int, Update] = {}
        self.allowed: Collection[str] = ()
        self._signal = signal
        self._turn = 0
        self._interruption = ""

    def add(self, update: Update) -> None:
        """Queue it, unless the bot did not ask for its kind."""
        wanted = update.kind in self.allowed if self.allowed else update.kind not in UNASKED
        if wanted:
            self.all[update.id] = self.pending[update.id] = update
            self._signal.notify()

    def next_id(self) -> int:
        return _FIRST_ID + len(self.all)

    def redeliver(self, update_id: int) -> None:
        """Hand it out once more, whatever was acknowledged."""
        update = self.all[update_id]
        update.again = True
        self.pending[update_id] = update
        self._signal.notify()

    def drop_pending(self) -> None:
        self.pending.clear()

    def settle(self, update: Update) -> None:
        """It has arrived and was acknowledged."""
        self.pending.pop(update.id, None)
        self._signal.notify()

    def handed_out(self, update: Update) -> dict[str, Any]:
        """Its payload, counted as one delivery."""
        update.deliveries += 1
        update.again = False
        return update.payload()

    def interrupt(self, description: str) -> None:
        """End the poll that waits, if any, with 409."""
        self._turn += 1
        self._interruption = description
        self._signal.notify()

    async def poll(self, offset: int, limit: int, timeout: float) -> list[dict[str, Any]]:
        """Acknowledge what lies before `offset`, then wait for something to hand out."""
        self._acknowledge(offset)
        self.interrupt(
            "terminated by other getUpdates request; "
            "make sure that only one bot instance is running"
        )
        turn = self._turn

        def batch() -> list[Update]:
            if turn != self._turn:
                raise conflict(self._interruption)
            return sorted(self.pending.values(), key=lambda one: one.id)[:limit]

        try:
            found = await self._signal.until(batch, timeout)
        except TimeoutError:
            return []
        return [self.handed_out(one) for one in found]

    def _acknowledge(self, offset: int) -> None:
        if offset < 0:
            offset = ([0, *sorted(self.pending)][offset:] or [0])[0]
        for update in list(self.pending.values()):
            if update.id < offset and not update.again:
                self.settle(update)

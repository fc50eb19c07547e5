"""Limits the events under way, in total and per chat, so that no chat takes all capacity."""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum, auto

_SILENCE = timedelta(minutes=1)
_REMEMBERED = 1000  # people


class Room(Enum):
    """Whether there is room for one more event."""

    FREE = auto()  # it is answered
    CROWDED = auto()  # the sender is asked to try later
    FULL = auto()  # it is not processed


class Backpressure:
    """Counts events that are under way or waiting.

    Up to `most` in total and `most_in_chat` per chat are answered; for as many again the senders
    are asked to try later.
    """

    def __init__(self, *, most: int, most_in_chat: int) -> None:
        self._most = most
        self._most_in_chat = most_in_chat
        self._chats: Counter[str] = Counter()

    def room(self, chat: str) -> Room:
        """Return whether there is room for one more event of this chat."""
        counts = ((self._chats.total(), self._most), (self._chats[chat], self._most_in_chat))
        if any(count >= 2 * most for count, most in counts):
            return Room.FULL
        return Room.CROWDED if any(count >= most for count, most in counts) else Room.FREE

    @contextmanager
    def joined(self, chat: str) -> Iterator[None]:
        """Count one event of this chat until the block ends."""
        self._chats[chat] += 1
        try:
            yield
        finally:
            self._chats[chat] -= 1
            if not self._chats[chat]:
                del self._chats[chat]


class Notices:
    """Remembers who was notified recently, so that a notice is not repeated too often."""

    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, datetime] = OrderedDict()

    def due(self, whom: Hashable, now: datetime) -> bool:
        """Return whether the last notice is at least a minute old; True counts as the next one."""
        told = self._told.get(whom)
        if told is not None and now - told < _SILENCE:
            return False
        self._told[whom] = now
        self._told.move_to_end(whom)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return True

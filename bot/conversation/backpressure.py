"""How many events are under way, in all and in each chat: no chat may take all the room."""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum, auto

_SILENCE = timedelta(minutes=1)
_REMEMBERED = 1000  # people


class Room(Enum):
    """What can be done for one more event."""

    FREE = auto()  # it is answered
    CROWDED = auto()  # it is told to come later
    FULL = auto()  # it is left alone


class Backpressure:
    """Counts events that are under way or wait.

    `most` in all and `most_in_chat` in one chat are answered; as many again are told to come
    later.
    """

    def __init__(self, *, most: int, most_in_chat: int) -> None:
        self._most = most
        self._most_in_chat = most_in_chat
        self._chats: Counter[str] = Counter()

    def room(self, chat: str) -> Room:
        """Tell what can be done for one more event of this chat."""
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
    """Remembers who was told something lately, so that nobody is told it again and again."""

    def __init__(self) -> None:
        self._told: OrderedDict[Hashable, datetime] = OrderedDict()

    def due(self, whom: Hashable, now: datetime) -> bool:
        """Tell whether the last notice is a minute old; a True counts as the next one."""
        told = self._told.get(whom)
        if told is not None and now - told < _SILENCE:
            return False
        self._told[whom] = now
        self._told.move_to_end(whom)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return True

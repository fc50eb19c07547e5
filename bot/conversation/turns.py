"""Who is answered when: counts the events under way, and answers them in order of arrival."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum, auto

from bot.request import Request, Trigger

_CLOSE = timedelta(minutes=1)
_REMEMBERED = 1000  # chats


class Room(Enum):
    """Whether there is room for one more event."""

    FREE = auto()  # it is answered
    CROWDED = auto()  # the sender is asked to try later
    FULL = auto()  # it is not processed


class Backpressure:
    """Counts events that are under way or waiting.

    Up to `maximum` in total and `max_in_chat` per chat are answered; for as many again the senders
    are asked to try later.
    """

    def __init__(self, *, maximum: int, max_in_chat: int) -> None:
        self._maximum = maximum
        self._max_in_chat = max_in_chat
        self._chats: Counter[str] = Counter()

    def room(self, chat: str) -> Room:
        """Return whether there is room for one more event of this chat."""
        counts = ((self._chats.total(), self._maximum), (self._chats[chat], self._max_in_chat))
        if any(count >= 2 * maximum for count, maximum in counts):
            return Room.FULL
        return Room.CROWDED if any(count >= maximum for count, maximum in counts) else Room.FREE

    @contextmanager
    def count_event(self, chat: str) -> Iterator[None]:
        """Count one event of this chat until the block ends."""
        self._chats[chat] += 1
        try:
            yield
        finally:
            self._chats[chat] -= 1
            if not self._chats[chat]:
                del self._chats[chat]


class TurnQueue:
    """Events that wait for each other: `width` of them have their turn, in the order of arrival."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._turns: list[asyncio.Event] = []

    @contextmanager
    def line_up(self) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the turn of the block comes; it ends with the block."""
        turn = asyncio.Event()
        self._turns.append(turn)
        self._call_next()
        try:
            yield turn
        finally:
            self._turns.remove(turn)
            self._call_next()

    def _call_next(self) -> None:
        for turn in self._turns[: self._width]:
            turn.set()


class RecentPastes:
    """Remembers what people wrote in private lately, so that answers that come close together name
    what they answer."""

    def __init__(self) -> None:
        self._written: OrderedDict[str, dict[str, datetime]] = OrderedDict()

    def note(self, request: Request) -> None:
        """Note when a message was addressed to the bot in private."""
        if not request.place.private or request.trigger is not Trigger.ADDRESSED:
            return
        chat = request.place.key
        written = self._written.setdefault(chat, {})
        written[request.answered_event] = request.now
        self._written[chat] = {
            event: moment for event, moment in written.items() if request.now - moment < _CLOSE
        }
        self._written.move_to_end(chat)
        if len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def is_one_of_several(self, request: Request) -> bool:
        """Return whether something else was written within a minute before or after."""
        written = self._written.get(request.place.key, {})
        return request.answered_event in written and len(written) > 1

"""Rate limiting per asker and of what is sent, in bounded memory and with the time passed in.

Times are in seconds of any clock that does not go back.
"""

from collections import OrderedDict
from typing import TypeVar

from engine.settings import UNLIMITED

_WINDOW = 60.0  # seconds
_MAX_ASKERS = 10_000
_SLACK = 1e-6  # seconds, for rounding
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(OrderedDict[_Key, _Value]):
    """What was set last, at most `maximum` of it."""

    def __init__(self, maximum: int) -> None:
        super().__init__()
        self._maximum = maximum

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._maximum:
            self.popitem(last=False)


class RateLimit:
    """The generic cell rate algorithm: a burst of one window's worth, then an even pace.

    One number is kept per asker: when its last request would have been due at an even pace.
    Beyond `maximum` askers, the least recently seen one is forgotten.
    """

    def __init__(
        self, allowed: int, *, window: float = _WINDOW, maximum: int = _MAX_ASKERS
    ) -> None:
        self._pace = 0.0 if allowed == UNLIMITED else window / allowed
        self._window = window
        self._due: Recent[str, float] = Recent(maximum)

    def __len__(self) -> int:
        return len(self._due)

    def wait(self, who: str, now: float) -> float:
        """Count a request and return 0, or the seconds until one would be accepted."""
        due, late = self._next_due(who, now)
        self._due[who] = due - self._pace if late else due
        return late

    def charge(self, who: str, requests: float, now: float) -> None:
        """Count so many requests more, for one that cost as much as they do."""
        due = max(self._due.get(who, now), now) + requests * self._pace
        self._due[who] = min(due, now + 2 * self._window)

    def reserve(self, who: str, now: float) -> float:
        """Count a request and return the seconds until its turn."""
        due, late = self._next_due(who, now)
        self._due[who] = due
        return late

    def _next_due(self, who: str, now: float) -> tuple[float, float]:
        due = max(self._due.get(who, now), now) + self._pace
        late = due - now - self._window
        return due, late if late > _SLACK else 0.0


class EvenPace:
    """Turns at an even pace, for what is sent to a platform that counts all messages together."""

    def __init__(self, per_second: float) -> None:
        self._between, self._next = 1 / per_second, 0.0

    def reserve(self, now: float) -> float:
        """Take the next turn and return the seconds until it."""
        at = max(self._next, now)
        self._next = at + self._between
        return at - now


class Holds:
    """Who has to wait because a platform refused further messages.

    One chat, or all once a second chat was refused while the first still had to wait: the limit
    that was met is then probably that of the whole account.
    """

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._all_until = 0.0

    def hold_chat(self, chat: str, seconds: float, now: float) -> None:
        """Note that a message to a chat was refused, for so many seconds."""
        waiting = {known: until for known, until in self._until.items() if until > now}
        waiting[chat] = max(waiting.get(chat, now), now + seconds)
        self._until = waiting
        if len(waiting) > 1:
            self._all_until = max(self._all_until, now + seconds)

    def wait(self, chat: str, now: float) -> float:
        """Return the seconds until a chat may be written to, 0 if it may now."""
        return max(self._until.get(chat, now) - now, self.wait_all(now))

    def wait_all(self, now: float) -> float:
        """Return the seconds until any chat may be written to, 0 if one may now."""
        return max(self._all_until - now, 0.0)

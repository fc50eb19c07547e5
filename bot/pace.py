"""Rate limiting per asker and of what is sent, in bounded memory and with the time passed in."""

from collections import OrderedDict

from engine.settings import UNLIMITED

_WINDOW = 60.0  # seconds
_MOST_ASKERS = 10_000


class RateLimit:
    """The generic cell rate algorithm: a burst of one minute's worth, then an even pace.

    One number is kept per asker: when its last request would have been due at an even pace.
    Beyond `most` askers, the least recently seen one is forgotten.
    """

    def __init__(self, per_minute: int, *, most: int = _MOST_ASKERS) -> None:
        self._pace = 0.0 if per_minute == UNLIMITED else _WINDOW / per_minute
        self._most = most
        self._due: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due)

    def wait(self, who: str, now: float) -> float:
        """Count a request and return 0, or the seconds until one would be accepted.

        `now` is in seconds of a monotonic clock.
        """
        due = max(self._due.pop(who, now), now) + self._pace
        late = due - now - _WINDOW
        refused = late > 1e-6
        self._due[who] = due - self._pace if refused else due
        if len(self._due) > self._most:
            self._due.popitem(last=False)
        return late if refused else 0.0


class EvenPace:
    """Turns at an even pace, for what is sent to a platform that counts all messages together."""

    def __init__(self, per_second: float) -> None:
        self._between, self._next = 1 / per_second, 0.0

    def reserve(self, now: float) -> float:
        """Take the next turn and return the seconds until it; `now` is as in RateLimit."""
        at = max(self._next, now)
        self._next = at + self._between
        return at - now

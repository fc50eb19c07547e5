"""How often somebody may ask: bounded in memory, decided without a clock of its own."""

from collections import OrderedDict

from engine.settings.section import UNLIMITED

_WINDOW = 60.0  # seconds
_MOST = 10_000


class RateLimit:
    """The generic cell rate algorithm: a minute's worth at once, then one by one.

    Of each asker one number is kept: when its last request would have been due at an even
    pace. Beyond `most` askers the one that was not seen for longest is forgotten.
    """

    def __init__(self, per_minute: int, *, most: int = _MOST) -> None:
        self._pace = 0.0 if per_minute == UNLIMITED else _WINDOW / per_minute
        self._most = most
        self._due: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due)

    def wait(self, who: str, now: float) -> float:
        """Count a request and return 0, or the seconds after which one would be let through.

        `now` are seconds of a clock that never goes back.
        """
        due = max(self._due.pop(who, now), now) + self._pace
        late = due - now - _WINDOW
        refused = late > 1e-6
        self._due[who] = due - self._pace if refused else due
        if len(self._due) > self._most:
            self._due.popitem(last=False)
        return late if refused else 0.0

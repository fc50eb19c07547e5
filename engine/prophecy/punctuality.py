"""Tells whether a search should wait for the phrases of a model that may be slow."""

from collections.abc import Callable

# Late answers in a row after which no search waits for the model. One may be chance.
_LATE = 2


class Punctuality:
    """Whether the model names phrases soon enough for a search to wait for them.

    After some answers in a row that took longer than `seconds`, the model counts as slow. Then one
    call every `pause` seconds tries it, for which no search waits, until an answer is in time.
    `clock` returns monotonic seconds.
    """

    def __init__(self, *, seconds: float, pause: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._pause = pause
        self._clock = clock
        self._late = 0
        self._try_at = 0.0

    @property
    def patience(self) -> float:
        """How many seconds a search waits."""
        return 0.0 if self._slow else self._seconds

    def may_ask(self) -> bool:
        """Return whether to make a call now; if the model is slow, this call is its next try."""
        if not self._slow:
            return True
        if self._clock() < self._try_at:
            return False
        self._try_at = self._clock() + self._pause
        return True

    def took(self, seconds: float, *, answered: bool) -> None:
        """Count a call that has ended."""
        if seconds > self._seconds:
            self._late += 1
            self._try_at = self._clock() + self._pause
        elif answered:
            self._late = 0

    @property
    def _slow(self) -> bool:
        return self._late >= _LATE

"""How long a failed attempt is waited for: twice as long each time, up to a quarter of an hour."""

from datetime import timedelta

_FIRST = 5.0  # seconds
_LONGEST = 15 * 60.0
_SPREAD = 0.2  # share that is added at random, so that many do not come back at once


def pause_before(attempts: int, jitter: float) -> timedelta:
    """Return the pause after so many attempts (1 and up); `jitter` is a random number in 0..1."""
    wait = min(_FIRST * 2.0 ** min(attempts - 1, 30), _LONGEST)
    return timedelta(seconds=wait * (1 + _SPREAD * jitter))

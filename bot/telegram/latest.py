"""Inline mode asks with every key that is pressed; only the last question is worth a search."""

import asyncio
import itertools

_PAUSE_SECONDS = 0.5


class Latest:
    """Tells of each person's questions the one that was followed by a pause."""

    def __init__(self, pause: float = _PAUSE_SECONDS) -> None:
        self._pause = pause
        self._numbers = itertools.count()
        self._last: dict[int, int] = {}

    async def stays(self, person: int) -> bool:
        """Wait a moment; False when the person asked something else meanwhile."""
        number = self._last[person] = next(self._numbers)
        await asyncio.sleep(self._pause)
        if self._last.get(person) != number:
            return False
        del self._last[person]
        return True

"""How far a standby is behind, by the clock of this process alone.

The primary's position in its log is noted with the moment before it was asked for. A standby that
has replayed as far holds everything that was committed by that moment. No clock of a server is
needed, and a pause of the primary does not look like a lag.
"""

from collections import deque
from dataclasses import dataclass

_KEPT = 600  # notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a server said about itself."""

    system: str  # the same for a primary and its standbys only
    standby: bool
    position: int  # in the log: written by a primary, replayed by a standby
    paused: bool = False  # its replay, by an administrator
    feedback: bool = False  # whether it keeps the primary from removing what it reads


class Notes:
    """What the primary had written, and when."""

    def __init__(self) -> None:
        self.system: str | None = None
        self._notes: deque[tuple[float, int]] = deque(maxlen=_KEPT)

    def note(self, sight: Sight, at: float) -> None:
        """Note the primary's position; `at` is a moment before it was asked for."""
        if sight.system != self.system or (self._notes and sight.position < self._notes[-1][1]):
            self._notes.clear()  # another server, or one that was restored
        self.system = sight.system
        if self._notes and self._notes[-1][1] == sight.position:
            self._notes.pop()
        self._notes.append((at, sight.position))

    def held_by(self, standby: Sight) -> float | None:
        """Return the latest moment of which a standby holds everything, or None if unknown."""
        if self.fault(standby):
            return None
        held = (at for at, position in reversed(self._notes) if position <= standby.position)
        return next(held, None)

    def fault(self, standby: Sight) -> str:
        """Return why a server can never be read in place of the primary, or ""."""
        if self.system is not None and standby.system != self.system:
            return "it is no copy of the primary's database"
        return "" if standby.standby else "it is not a standby"

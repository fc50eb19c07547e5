"""`presagio serve` by a clock that a test winds: `python -m tests.scenarios.week.clock FILE`.

The clock goes as fast as any other. What it was wound by stands in a file, so that processes that
are started later go by the same time. Their jobs tick more often than usual.
"""

import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.signals import run_until_signal
from tests.scenarios.chaos.hurried import serve_by

RATE = 6.0  # a post is given up for a while after ten seconds, which a busy machine may need


@dataclass(frozen=True)
class WoundClock:
    """Tells the time, and beyond it the seconds that stand in the file."""

    file: Path

    @classmethod
    def at(cls, moment: datetime, file: Path) -> "WoundClock":
        """Return a clock that shows `moment` now."""
        clock = cls(file)
        clock.wind_to(moment)
        return clock

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.seconds(), UTC)

    def seconds(self) -> float:
        """Return the same as seconds since 1970."""
        return time.time() + float(self.file.read_text())

    def wind(self, by: timedelta) -> None:
        """Set the clock forward, for every process at once."""
        self._set(float(self.file.read_text()) + by.total_seconds())

    def wind_to(self, moment: datetime) -> None:
        """Set the clock to `moment`."""
        self._set(moment.timestamp() - time.time())

    def _set(self, ahead: float) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(repr(ahead))
        fresh.replace(self.file)


if __name__ == "__main__":
    run_until_signal(serve_by(WoundClock(Path(sys.argv[1])), RATE))

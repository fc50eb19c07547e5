"""`presagio serve` by a clock that runs faster.

`python -m tests.scenarios.chaos.hurried START RATE` takes what `HurriedClock` is made of.

Intervals, leases, pauses and the time for one delivery shrink with it; what is agreed with the
server, such as how soon a dead leader is replaced, does not.
"""

import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.app import open_app
from bot.console.logs import configure_logging
from bot.serve import serve
from bot.settings import load_settings
from bot.signals import run_until_signal


@dataclass(frozen=True)
class HurriedClock:
    """Counts `rate` seconds in one from `start` (seconds since 1970) on, in every process alike."""

    start: float
    rate: float

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.seconds(), UTC)

    def seconds(self) -> float:
        """Return the same as seconds since 1970."""
        return self.start + (time.time() - self.start) * self.rate

    @property
    def arguments(self) -> tuple[str, str]:
        """What a process by this clock is started with."""
        return repr(self.start), repr(self.rate)


def start_notice(pid: int) -> str:
    """Return the line that a process writes to stderr once its start is over."""
    return f"process {pid} has started"


class _StartNotice(logging.Handler):
    """Writes the notice when `serve` logs that it has started."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "started":
            _print(start_notice(os.getpid()))


def _print(text: str) -> None:
    sys.stderr.write(f"{text}\n")


async def serve_by(clock: Callable[[], datetime], rate: float) -> None:
    """Serve by a clock, with jobs that tick so much more often."""
    settings = load_settings()
    configure_logging(settings.logging)
    log = logging.getLogger("presagio.serve")
    log.setLevel(logging.INFO)
    log.addHandler(_StartNotice())
    async with open_app(settings, progress=_print) as app:
        await serve(app, now=clock, tell=_print, clock_rate=rate)


if __name__ == "__main__":
    hurried = HurriedClock(*map(float, sys.argv[1:]))
    run_until_signal(serve_by(hurried, hurried.rate))

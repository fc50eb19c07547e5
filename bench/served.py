"""Runs `presagio serve`, and at each SIGUSR1 reports its performance since the last one.

`python -m bench.served` prints one JSON line each time: how late the event loop was at worst, how
much of that its own thread was working (the rest went to other processes), the CPU time of the
process, and the memory that it holds.
"""

import asyncio
import json
import signal
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.timing import progress
from bot.app import open_app
from bot.console.logs import configure_logging
from bot.serve import serve
from bot.settings import load_settings
from bot.signals import run_until_signal

_TICK = 0.01


@dataclass
class Pulse:
    """Measures, in seconds, how late the event loop wakes."""

    late: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    cpu: float = field(default_factory=time.process_time)

    async def beat(self) -> None:
        """Measure until cancelled."""
        while True:
            start, work = time.perf_counter(), time.thread_time()
            await asyncio.sleep(_TICK)
            self.late.append(time.perf_counter() - start - _TICK)
            self.worked.append(time.thread_time() - work)

    def taken(self) -> dict[str, float]:
        """Return the worst of each since the last call, and all CPU time, in milliseconds."""
        cpu, self.cpu = time.process_time() - self.cpu, time.process_time()
        late, worked = max(self.late, default=0.0), max(self.worked, default=0.0)
        self.late.clear()
        self.worked.clear()
        seconds = {"late_ms": late, "worked_ms": worked, "cpu_ms": cpu}
        return {name: round(value * 1000, 1) for name, value in seconds.items()}


def resident() -> int:
    """Return the MB that this process holds."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    return 0


async def bot() -> None:
    """Serve until a signal arrives."""
    settings, pulse = load_settings(), Pulse()
    configure_logging(settings.logging)

    def report() -> None:
        print(json.dumps({**pulse.taken(), "memory_mb": resident()}), flush=True)

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, report)
    async with open_app(settings, progress=progress) as app:
        beating = asyncio.create_task(pulse.beat())
        try:
            await serve(app, now=lambda: datetime.now(UTC), tell=progress)
        finally:
            beating.cancel()


if __name__ == "__main__":
    run_until_signal(bot())

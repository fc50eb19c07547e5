"""Measures how soon a lost leader is replaced: `python -m bench.leader [--times N]`.

Three processes of `presagio serve` share a separate database. The leader is killed, terminated or
frozen; the time until another process leads is measured. The exit code is 1 when it takes more than
30 seconds.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from bench.store import folder
from bench.timing import Output
from tests.scenarios.chaos.stage import chaos
from tests.scenarios.chaos.world import Size

_WITHIN = 30.0
_SIZE = Size(
    stories=0,
    chats=2,
    categories=2,
    kills=0,
    restarts=0,
    pause=0.0,
    rate=1.0,
)
_Deed: TypeAlias = Callable[["asyncio.subprocess.Process"], Awaitable[None]]


async def measure(times: int, place: Path) -> bool:
    """Print a row for each way to lose a leader; return whether none took too long."""
    output, longest = Output("leader"), 0.0
    async with chaos(_SIZE, place) as stage:
        await stage.open()
        deeds: dict[str, _Deed] = {
            "killed": stage.processes.kill,
            "told to end": stage.processes.end,
            "frozen": stage.processes.freeze,
        }
        for name, deed in deeds.items():
            seconds = []
            for _ in range(times):
                frozen = await stage.leader()
                seconds.append(await stage.moved(deed))
                if name == "frozen" and frozen:
                    await stage.processes.kill(frozen)
                await stage.processes.start()
                await stage.until(stage.all_serve, "all processes serve", 60)
            longest = max(longest, *seconds)
            output.row(leader=name, times=times, longest_s=round(max(seconds), 1))
    output.table()
    return longest < _WITHIN


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, clean up; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.leader", description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="of each (3)")
    arguments = parser.parse_args(argv)
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)
    with folder() as place:
        return 0 if asyncio.run(measure(arguments.times, place)) else 1


if __name__ == "__main__":
    sys.exit(main())

"""A process that stands for a lease: `python -m bench.standing URL LEASE NOTES [--careless]`.

While it holds the lease, it notes so in the file NOTES, and writes rows that name its fence. With
`--careless` it hardly looks at the time and names no fence, which the bench is to notice.
"""

import argparse
import asyncio
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

from bench.terms import NOTE
from db.lease import Lease, LeaseTimes, elapsed_seconds
from db.pool import Database, PoolSettings
from engine.errors import StorageError

TIMES = LeaseTimes(holds=2.0, sure=1.4, renewal=0.25, answer=1.0, retry=0.1)
WRITES = """
CREATE TABLE written (
    number bigserial PRIMARY KEY,
    lease text NOT NULL,
    fence bigint NOT NULL,
    late boolean NOT NULL,  -- refused: it came when another process had taken the lease
    at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
# A row that is refused is kept as such. The lease cannot be taken between the look and the write.
_WRITE = """
WITH held AS (SELECT FROM lease WHERE name = $1 AND holder = $2 AND fence = $3 FOR SHARE)
INSERT INTO written (lease, fence, late) SELECT $1, $3, NOT ($4 OR EXISTS (SELECT FROM held))
"""
_HOLDING, _WAITING = 0.002, 0.005  # seconds between two notes, and between two looks
_PAUSE = 0.02  # seconds between two writes
_SETTINGS = PoolSettings(size=2, connect_timeout=2.0, command_timeout=2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Careless(LeaseTimes):
    """Those of a holder that relies on the lease for much longer than others wait."""

    sure: float = 600.0

    def __post_init__(self) -> None:
        """Accept any times."""


async def note(lease: Lease, notes: Path) -> None:
    """Note again and again that the lease is held, while it is."""
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        # Before the question: the process may be frozen after it, and then it is another time.
        now = elapsed_seconds()
        held = lease.is_held
        if held:
            os.write(file, NOTE.pack(now, lease.fence or 0, time.time()))
        await asyncio.sleep(_HOLDING if held else _WAITING)


async def write(lease: Lease, database: Database, *, dawdles: float, careless: bool) -> None:
    """Write rows while the lease is held, up to `dawdles` seconds after it was asked for."""
    while True:
        await asyncio.sleep(_PAUSE)
        if not lease.is_held:
            continue
        fence = lease.fence
        await asyncio.sleep(random.uniform(0.0, dawdles))
        try:
            async with database.connection() as connection:
                await connection.execute(_WRITE, lease.name, lease.holder, fence, careless)
        except StorageError:  # the bench ends its connections, and its server
            continue


async def stand(url: str, name: str, notes: Path, *, careless: bool) -> None:
    """Stand for a lease until killed."""
    times = TIMES
    if careless:
        times = _Careless(holds=TIMES.holds, renewal=TIMES.renewal, retry=TIMES.retry)
    database = await _opened(url)
    async with Lease(database, name, times=times) as lease:
        await asyncio.gather(
            note(lease, notes),
            write(lease, database, dawdles=0.0, careless=careless),
            write(lease, database, dawdles=2 * TIMES.holds, careless=careless),
        )


async def _opened(url: str) -> Database:
    while True:
        try:
            return await Database.open(url, _SETTINGS)
        except StorageError:  # it is being restarted
            await asyncio.sleep(0.1)


def main() -> None:
    """Read the arguments, and stand for the lease."""
    parser = argparse.ArgumentParser(prog="python -m bench.standing", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("lease")
    parser.add_argument("notes", type=Path)
    parser.add_argument("--careless", action="store_true")
    arguments = parser.parse_args()
    url, notes = arguments.url, arguments.notes
    asyncio.run(stand(url, arguments.lease, notes, careless=arguments.careless))


if __name__ == "__main__":
    main()

"""Measures whether ingest streams: `python -m bench.streaming [--lines 100000,1000000] [--quick]`.

Archives of made-up tweets are loaded by `presagio ingest` as a process of its own. `command_mb` and
`reader_mb` are the most memory that the command and the process that reads the file ever held: they
must not grow with the archive. The longest archive is loaded once more, into another corpus, by a
command that is killed halfway; the same command then completes it. Every count must be right, else
the exit code is 1. Memory is read from /proc, so this needs Linux.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

from bench.store import folder, opened, server
from bench.timing import Output, progress
from db.pool import Database

_LINES, _QUICK = (100_000, 1_000_000), (20_000, 60_000)
_WORDS = 20_000
_LOOK = 0.05  # seconds between looks at a running command
_COUNT = "SELECT coalesce(sum(documents), 0)::bigint FROM corpus WHERE name = $1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """How a command ended: what it printed, and the most memory of each process in megabytes."""

    counts: dict[str, int]
    seconds: float
    command_mb: int
    reader_mb: int


def write_archive(path: Path, lines: int) -> Path:
    """Write tweets of words that are as unevenly frequent as those of a language."""
    draw = random.Random(lines)
    words = [f"word{number}" for number in range(_WORDS)]
    weights = list(accumulate(1 / (number + 1) for number in range(_WORDS)))
    begun = datetime(2010, 1, 1, tzinfo=UTC)
    with path.open("w", encoding="utf-8") as file:
        for number in range(lines):
            text = " ".join(draw.choices(words, cum_weights=weights, k=18))
            at = (begun + timedelta(minutes=number)).isoformat()
            file.write(json.dumps({"id": str(number), "text": text, "created_at": at}) + "\n")
    return path


class Ingest:
    """Runs `presagio ingest` against a server."""

    def __init__(self, url: str, place: Path) -> None:
        self._environment = os.environ | {"DATABASE_URL": url, "PRESAGIO_DATA_DIR": str(place)}

    async def run(self, file: Path, corpus: str, *, killed: Callable[[], bool]) -> Loaded | None:
        """Load a file; return None if `killed` said so meanwhile."""
        begun = time.perf_counter()
        command = reader = 0
        with subprocess.Popen(  # noqa: ASYNC220 - it is polled
            [sys.executable, "-m", "bot", "ingest", str(file), "--corpus", corpus, "--json"],
            env=self._environment,
            stdout=subprocess.PIPE,
        ) as process:
            while process.poll() is None:
                command = max(command, _peak_mb(process.pid))
                reader = max([reader, *map(_peak_mb, _children(process.pid))])
                if killed():
                    process.kill()
                    return None
                await asyncio.sleep(_LOOK)
            out = process.communicate()[0]
        if process.returncode:
            sys.exit(f"presagio ingest ended with {process.returncode}.")
        seconds = time.perf_counter() - begun
        counts = json.loads(out)
        return Loaded(counts=counts, seconds=seconds, command_mb=command, reader_mb=reader)


def _children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it ended meanwhile
        return []


def _peak_mb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:")), 0)


async def run(sizes: Sequence[int], place: Path, url: str) -> None:
    """Load each archive, then kill a command and complete its work."""
    output, ingest = Output("streaming"), Ingest(url, place)
    database = await opened(url, size=2)
    file = place / "archive.jsonl"
    try:
        for lines in sizes:
            progress(f"{lines:,} lines")
            loaded = await ingest.run(write_archive(file, lines), f"l{lines}", killed=lambda: False)
            assert loaded
            _require(loaded.counts["inserted"] == lines, f"{loaded.counts} of {lines}")
            _row(output, "whole", lines, loaded)
        await _killed(database, ingest, file, sizes[-1], output)
    finally:
        await database.close()
    output.table()


async def _killed(
    database: Database, ingest: Ingest, file: Path, lines: int, output: Output
) -> None:
    stored = 0

    async def watch() -> None:
        nonlocal stored
        while True:
            stored = await _stored(database, "killed")
            await asyncio.sleep(_LOOK)

    watching = asyncio.create_task(watch())
    ended = await ingest.run(file, "killed", killed=lambda: stored >= lines // 2)
    watching.cancel()
    _require(ended is None, "it was over before it could be killed")
    stored = await _stored(database, "killed")
    resumed = await ingest.run(file, "killed", killed=lambda: False)
    assert resumed
    counts = resumed.counts
    # A batch whose transaction was under way when the command died may still have been committed.
    _require(counts["inserted"] <= lines - stored, f"{counts} after {stored}")
    _require(counts["inserted"] + counts["unchanged"] == lines, f"{counts} of {lines}")
    _require(await _stored(database, "killed") == lines, "documents are missing")
    _row(output, f"completed after {stored:,} and a kill", lines, resumed)


async def _stored(database: Database, corpus: str) -> int:
    async with database.connection() as connection:
        return int(await connection.fetchval(_COUNT, corpus))


def _row(output: Output, how: str, lines: int, loaded: Loaded) -> None:
    output.row(
        load=how,
        lines=lines,
        inserted=loaded.counts["inserted"],
        seconds=round(loaded.seconds, 1),
        per_second=round(lines / loaded.seconds),
        command_mb=loaded.command_mb,
        reader_mb=loaded.reader_mb,
    )


def _require(right: bool, said: str) -> None:
    if not right:
        sys.exit(f"bench.streaming: {said}")


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start a server, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.streaming", description=__doc__)
    parser.add_argument("--lines", default=",".join(map(str, _LINES)), help="lengths of archives")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK} lines")
    arguments = parser.parse_args(argv)
    sizes = _QUICK if arguments.quick else [int(one) for one in arguments.lines.split(",")]
    with folder() as place, server(place) as url:
        asyncio.run(run(sizes, place, url))


if __name__ == "__main__":
    main()

"""Processes that stand for one lease, and what is done to them and to their server."""

import asyncio
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from bench.standing import TIMES
from bench.terms import NOTE, Term, steps, terms
from db.lease import elapsed_seconds
from tests.fakes.standby import LoopbackServer

_ROOT = Path(__file__).resolve().parents[1]
_LIBRARIES = "/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1"
_STEPS = "+0", "+2s", "-2s", "+90s", "-90s", "+1h", "-1h", "+30d", "-30d", "+10y", "-5y"
_READ = 1.2  # seconds after which every process has read the step
_LOOK = 0.02
PATIENCE = 60.0  # seconds in which somebody must hold the lease again


class WallClock:
    """The time of day of some processes, which can be stepped while they run."""

    library: str | None = next((str(p) for g in _LIBRARIES for p in Path("/").glob(g[1:])), None)

    def __init__(self, file: Path) -> None:
        self._file = file
        self._file.write_text("+0\n", encoding="ascii")
        self._file.chmod(0o644)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the processes are started with; their other clocks are left alone."""
        if self.library is None:
            return {}
        return {
            "LD_PRELOAD": self.library,
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def step(self, chance: random.Random) -> None:
        """Set it forward or back."""
        self._file.write_text(f"{chance.choice(_STEPS)}\n", encoding="ascii")


@dataclass
class Member:
    """One place in a group, whose process is replaced when it is killed."""

    name: str
    command: Sequence[str]
    clock: WallClock
    folder: Path
    lives: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def notes(self) -> Path:
        """The notes of the process that lives now."""
        return self.folder / f"{self.name}.{self.lives}"

    def start(self) -> None:
        """Begin a new life."""
        self.lives += 1
        self.process = subprocess.Popen(
            [*self.command, str(self.notes)],
            cwd=_ROOT,
            env={**os.environ, **self.clock.environment},
            stderr=subprocess.DEVNULL,
        )

    def send(self, number: int) -> None:
        """Send the process a signal."""
        if self.process:
            self.process.send_signal(number)

    def end(self) -> None:
        """Kill the process, frozen or not."""
        self.send(signal.SIGKILL)
        if self.process:
            self.process.wait()

    def last(self) -> tuple[float, int] | None:
        """Return the last note of this life: the time and the fence."""
        with suppress(FileNotFoundError), self.notes.open("rb") as file:
            whole = os.fstat(file.fileno()).st_size // NOTE.size * NOTE.size
            if whole:
                note = os.pread(file.fileno(), NOTE.size, whole - NOTE.size)
                time, fence, _ = NOTE.unpack(note)
                return time, fence
        return None

    def terms(self) -> Iterator[Term]:
        """Yield the terms of all lives."""
        for path in self.folder.glob(f"{self.name}.*"):
            yield from terms(path.name, path.read_bytes())

    def steps(self) -> int:
        """Return how often its clock was set while it held the lease."""
        return sum(steps(path.read_bytes()) for path in self.folder.glob(f"{self.name}.*"))


@dataclass
class Group:
    """Processes that stand for one lease."""

    name: str
    members: Sequence[Member]
    sessions: Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)  # events of the holder
    replaced: Counter[str] = field(default_factory=Counter)  # of these, after which another held it
    # When a holder was killed, and when another one followed.
    freed: list[tuple[float, float]] = field(default_factory=list)
    abandoned: list[str] = field(default_factory=list)  # events that nobody led after

    def holder(self) -> Member | None:
        """Return who noted last that it holds the lease."""
        noted = [(last, member) for member in self.members if (last := member.last())]
        return max(noted, key=lambda pair: pair[0])[1] if noted else None

    async def disturb(self) -> None:
        """Do one thing to the group, mostly to the holder, and wait until somebody leads."""
        deeds = {self.kill: 4, self.freeze: 4, self.step: 2, self.cut: 1, self.hang: 1}
        deed = self.chance.choices([*deeds], [*deeds.values()])[0]
        member, held = self.chance.choice(self.members), self.holder()
        if held and self.chance.random() < 0.8:
            member = held
        begun = elapsed_seconds()
        await deed(member)
        seconds = await self.led(begun if deed == self.kill else elapsed_seconds())
        name = deed.__name__
        self.done[name] += 1
        if seconds is None:
            self.abandoned.append(name)
        elif member is held:
            self.met[name] += 1
            self.replaced[name] += deed == self.kill or self.holder() is not member
            if deed == self.kill:
                self.freed.append((begun, begun + seconds))

    async def led(self, after: float) -> float | None:
        """Return the seconds after which a process led that does so now, or None if none did."""
        while elapsed_seconds() < after + PATIENCE:
            last = [noted[0] for member in self.members if (noted := member.last())]
            if last and max(last) > after:
                return max(last) - after
            await asyncio.sleep(_LOOK)
        return None

    async def kill(self, member: Member) -> None:
        """Kill a process and start another in its place."""
        await asyncio.to_thread(member.end)
        await asyncio.to_thread(member.start)

    async def freeze(self, member: Member) -> None:
        """Stop a process for some time: shorter than it is sure, or longer than the lease holds."""
        member.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(self.chance.uniform(0.2, 2.5) * TIMES.holds)
        finally:
            member.send(signal.SIGCONT)

    async def step(self, member: Member) -> None:
        """Set a process' clock forward or back."""
        member.clock.step(self.chance)
        await asyncio.sleep(_READ)

    async def cut(self, member: Member) -> None:
        """End a process' sessions on the server."""
        for pid in await self._backends(member):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    async def hang(self, member: Member) -> None:
        """Stop a process' sessions on the server: what it asks is done late, and not answered."""
        pids = await self._backends(member)
        for number, pause in ((signal.SIGSTOP, self.chance.uniform(0.5, 2.0)), (signal.SIGCONT, 0)):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            await asyncio.sleep(pause * TIMES.holds)

    async def _backends(self, member: Member) -> list[int]:
        named = f"presagio {member.process.pid}" if member.process else ""
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # it restarts
            connection = await self.sessions()
            try:
                rows = await connection.fetch(
                    "SELECT pid FROM pg_stat_activity WHERE application_name = $1", named
                )
            finally:
                await connection.close()
            return [row["pid"] for row in rows]
        return []


@contextmanager
def standing(groups: Sequence[Group]) -> Iterator[None]:
    """Run all processes while the block runs."""
    members = [member for group in groups for member in group.members]
    try:
        for member in members:
            member.start()
        yield
    finally:
        for member in members:
            member.end()


class Trouble:
    """What happens to the server, and so to all groups, while they are disturbed."""

    def __init__(self, server: LoopbackServer, clock: WallClock, chance: random.Random) -> None:
        self._server, self._clock, self._chance = server, clock, chance
        self.done: Counter[str] = Counter()
        self.crashes: list[tuple[float, float]] = []  # from when to when it was away

    async def step(self) -> None:
        """Set the server's clock forward or back."""
        self._clock.step(self._chance)
        self.done["the server's clock steps"] += 1

    async def restart(self) -> None:
        """End the server as a crash would, and start it again."""
        begun = elapsed_seconds()
        await asyncio.to_thread(self._server.kill)
        await asyncio.sleep(self._chance.uniform(0.0, 2.0) * TIMES.holds)
        await asyncio.to_thread(self._server.start)
        self.crashes.append((begun, elapsed_seconds()))
        self.done["the server crashes"] += 1

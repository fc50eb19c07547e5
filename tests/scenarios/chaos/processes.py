"""Processes that serve, each of which may be killed, frozen, or told to end.

One that ends by itself is started again, as any supervisor does, and counted.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil  # type: ignore[import-untyped]  # no type information

from tests.bot.command_line import ROOT
from tests.patience import PATIENCE
from tests.scenarios.chaos.hurried import HurriedClock, start_notice

_MODULE = "tests.scenarios.chaos.hurried"


async def start_module(
    log: IO[bytes], environ: Mapping[str, str], *command: str
) -> "asyncio.subprocess.Process":
    """Run a module of this project; what it writes goes to `log`."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *command),
        cwd=ROOT,
        env=os.environ | environ,
        stdout=log,
        stderr=log,
    )


@dataclass
class Processes:
    """Those that run. What they write goes to `log`."""

    clock: HurriedClock
    environ: Mapping[str, str]
    log: IO[bytes]
    running: list["asyncio.subprocess.Process"] = field(default_factory=list)
    ended: int = 0  # by themselves
    _watching: set["asyncio.Task[None]"] = field(default_factory=set)

    async def start(self) -> "asyncio.subprocess.Process":
        """Start one; it listens a few seconds later."""
        process = await start_module(self.log, self.environ, _MODULE, *self.clock.arguments)
        self.running.append(process)
        watching = asyncio.create_task(self._watch(process))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        return process

    async def _watch(self, process: "asyncio.subprocess.Process") -> None:
        await process.wait()
        if process in self.running:
            self.running.remove(process)
            self.ended += 1
            await self.start()

    async def kill(self, process: "asyncio.subprocess.Process") -> None:
        """End one without a word."""
        self.running.remove(process)
        process.kill()
        await process.wait()

    async def end(self, process: "asyncio.subprocess.Process") -> None:
        """Ask one to end, and wait until it has."""
        self.running.remove(process)
        process.terminate()
        async with asyncio.timeout(PATIENCE):
            await process.wait()

    @staticmethod
    async def freeze(process: "asyncio.subprocess.Process") -> None:
        """Let one stand still."""
        process.send_signal(signal.SIGSTOP)

    @staticmethod
    def ports(process: "asyncio.subprocess.Process") -> set[int]:
        """Return the local ports of one's connections."""
        connections = psutil.Process(process.pid).net_connections("tcp")
        return {connection.laddr.port for connection in connections if connection.laddr}

    def have_started(self) -> bool:
        """Return whether every process that runs is past its start."""
        written = Path(self.log.name).read_text(errors="replace").splitlines()
        return {start_notice(process.pid) for process in self.running} <= {*written}

    def behind(self, port: int) -> "asyncio.subprocess.Process | None":
        """Return the one that a connection from a local port comes from."""
        for process in self.running:
            with suppress(psutil.Error):
                if port in self.ports(process):
                    return process
        return None

    def numbered(self, pid: int) -> "asyncio.subprocess.Process | None":
        """Return the one with a process id; None when it does not run any more."""
        return next((process for process in self.running if process.pid == pid), None)


@asynccontextmanager
async def processes(
    clock: HurriedClock, environ: Mapping[str, str], log: Path
) -> AsyncIterator[Processes]:
    """Lend none that runs yet; those that run at the end are killed."""
    with log.open("ab") as file:
        troupe = Processes(clock, environ, file)
        try:
            yield troupe
        finally:
            for process in [*troupe.running]:
                await troupe.kill(process)

"""A process that uses an embedded server: `python -m tests.db.server_user FOLDER`.

It prints the server's URL, stays until its input ends, and leaves.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Self

from db.embedded.server import EmbeddedServer
from tests.database import CARELESS
from tests.patience import PATIENCE


class ServerUser:
    """The test's end of such a process."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, data_dir: Path) -> Self:
        """Start the process without waiting for the server."""
        command = (sys.executable, "-m", "tests.db.server_user", str(data_dir))
        root = Path(__file__).parents[2]
        return cls(
            await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=root)
        )

    async def url(self) -> str:
        """Wait until the server runs and return its URL."""
        assert self._process.stdout
        line = await asyncio.wait_for(self._process.stdout.readline(), PATIENCE)
        assert line, "the process ended without a server"
        return line.decode().strip()

    async def leave(self) -> None:
        """Let it leave and end."""
        assert self._process.stdin
        self._process.stdin.close()
        assert await asyncio.wait_for(self._process.wait(), PATIENCE) == 0

    async def kill(self) -> None:
        """End it at once, as a crash would; do nothing when it has ended."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()


def main() -> None:
    with EmbeddedServer(Path(sys.argv[1]), extra=CARELESS) as server:
        sys.stdout.write(server.url() + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()

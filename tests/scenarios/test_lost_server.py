"""`presagio serve` outlives its embedded database server: it starts it again, or says why not."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from bot.app import open_app
from bot.serve import serve
from bot.settings import load_settings
from db.embedded import server as watch
from db.embedded.data_folder import GATE_LOCK
from db.embedded.postmaster import PID_FILE, State, observe
from db.embedded.server import EmbeddedServer, FileLock
from engine.errors import StorageUnreachable
from tests.bot.command_line import PROGRAM, SECONDS
from tests.database import CARELESS

pytestmark = pytest.mark.slow

Alive = Callable[[], bool]


@pytest.fixture
def data_dir(server_folder: Path) -> Iterator[Path]:
    """A data folder. A server that a test leaves running is stopped."""
    place = server_folder / "d"
    with EmbeddedServer(place, extra=CARELESS):
        pass
    yield place
    if (place / "postgres" / PID_FILE).exists():
        with EmbeddedServer(place, extra=CARELESS):
            pass


@pytest.fixture
def web(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the page will be."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("PRESAGIO_DATA_DIR", str(data_dir))
    monkeypatch.setenv("PRESAGIO_WEB__ENABLED", "true")
    monkeypatch.setenv("PRESAGIO_WEB__PORT", str(port))
    return f"http://127.0.0.1:{port}"


@contextmanager
def serving(log: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """`presagio serve` as a process of its own."""
    with log.open("wb") as said, subprocess.Popen([PROGRAM, "serve"], stderr=said) as process:
        try:
            yield process
        finally:
            process.kill()


async def until_ready(client: httpx.AsyncClient, status: int, alive: Alive) -> None:
    """Ask whether questions can be answered until this is what comes back."""
    async with asyncio.timeout(SECONDS):
        while True:
            assert alive(), "it has ended"
            try:
                if (await client.get("/readyz")).status_code == status:
                    return
            except httpx.TransportError:  # it does not listen yet
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.02)


def kill_postmaster(data_dir: Path) -> int:
    pid = int((data_dir / "postgres" / PID_FILE).read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    return pid


async def test_a_killed_server_is_started_again_and_readiness_tells_the_truth(
    web: str, data_dir: Path, tmp_path: Path
) -> None:
    log, gate = tmp_path / "log", FileLock(data_dir / GATE_LOCK)
    with serving(log) as process:

        def alive() -> bool:
            return process.poll() is None

        async with httpx.AsyncClient(base_url=web, timeout=SECONDS) as client:
            await until_ready(client, 200, alive)
            assert gate.acquire(timeout=SECONDS)  # nobody may start a server
            killed = kill_postmaster(data_dir)
            await until_ready(client, 503, alive)
            assert (await client.get("/healthz")).status_code == 200
            gate.release()
            await until_ready(client, 200, alive)
            assert (await client.get("/api/corpora")).status_code == 200
        assert killed != int((data_dir / "postgres" / PID_FILE).read_text().split()[0])
        async with asyncio.timeout(SECONDS):  # the watch says so a moment after it is true
            while "The database is back after" not in log.read_text():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, SECONDS) == 128 + signal.SIGTERM
    assert "The database server has died; starting it again" in log.read_text()
    assert observe(data_dir / "postgres")[0] is State.ABSENT


async def test_a_server_that_cannot_be_started_again_ends_the_process(
    web: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 0.01)

    async def served() -> None:
        async with open_app(load_settings(), progress=print) as app:
            await serve(app, now=lambda: datetime.now(UTC), said=print)

    task = asyncio.create_task(served())
    async with httpx.AsyncClient(base_url=web, timeout=SECONDS) as client:
        await until_ready(client, 200, lambda: not task.done())
    (data_dir / "postgres" / "global" / "pg_control").write_bytes(b"\0" * 8192)
    kill_postmaster(data_dir)
    with pytest.raises(StorageUnreachable, match=r"could not be started again: .*did not start"):
        async with asyncio.timeout(SECONDS):
            await task

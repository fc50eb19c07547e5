"""`presagio serve` outlives its embedded database server: it starts it again, or says why not."""

import asyncio
import itertools
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from bot.app import open_app
from bot.serve import serve
from bot.settings import load_settings
from db.embedded import server as watch
from db.embedded.cluster import GATE_LOCK
from db.embedded.postmaster import PID_FILE, State, observe_server
from db.embedded.server import EmbeddedServer, FileLock
from db.pool import Database
from engine.errors import StorageError, StorageUnreachable
from tests.bot.command_line import PROGRAM, SECONDS
from tests.database import CARELESS
from tests.db.loading import document, load
from tests.fakes.telegram import TelegramServer
from tests.network import find_free_port
from tests.patience import until
from tests.scenarios.stage import HEADLINE, TWEETS, Stage, surroundings

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
    port = find_free_port()
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
        # The watch says so a moment after it is true.
        await until(lambda: "The database is back after" in log.read_text())
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, SECONDS) == 128 + signal.SIGTERM
    assert "The database server has died; starting it again" in log.read_text()
    assert observe_server(data_dir / "postgres")[0] is State.ABSENT


async def test_a_server_that_cannot_be_started_again_ends_the_process(
    web: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 0.01)

    async def served() -> None:
        async with open_app(load_settings(), progress=print) as app:
            await serve(app, now=lambda: datetime.now(UTC), tell=print)

    task = asyncio.create_task(served())
    async with httpx.AsyncClient(base_url=web, timeout=SECONDS) as client:
        await until_ready(client, 200, lambda: not task.done())
    (data_dir / "postgres" / "global" / "pg_control").write_bytes(b"\0" * 8192)
    kill_postmaster(data_dir)
    with pytest.raises(StorageUnreachable, match=r"could not be started again: .*did not start"):
        async with asyncio.timeout(SECONDS):
            await task


@pytest.mark.parametrize("step", range(1, 15))
async def test_a_database_death_during_startup_leaves_no_adapter_unresponsive(
    web: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Killed at each use of the database: people are answered, or the process ends."""
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 0.1)
    async with open_app(load_settings(), progress=print) as app:
        await load(app.database, "demo", [document("1", TWEETS[0])], "english")
    kill_at_use(monkeypatch, step, data_dir)
    async with TelegramServer() as telegram, surroundings() as (model, page):
        stage = Stage(database_url="", telegram=telegram, model=model, web=page)
        stage.environment |= {
            name: value for name, value in os.environ.items() if name.startswith("PRESAGIO_")
        }
        serving = asyncio.create_task(stage.run())
        try:
            async with asyncio.timeout(SECONDS):
                await is_answered(telegram, serving)
        finally:
            serving.cancel()
            await asyncio.wait({serving})
    if not serving.cancelled():
        assert isinstance(serving.exception(), StorageError)


def kill_at_use(monkeypatch: pytest.MonkeyPatch, step: int, data_dir: Path) -> None:
    """Kill the server, with all of its processes, when the database is used for that time."""
    uses = itertools.count(1)

    def counted(lend: Callable[..., Any]) -> Callable[..., Any]:
        def use(*arguments: Any, **more: Any) -> Any:
            if next(uses) == step:
                kill_server(data_dir)
            return lend(*arguments, **more)

        return use

    for lend in (Database.connection, Database.own_connection):
        monkeypatch.setattr(Database, lend.__name__, counted(lend))


def kill_server(data_dir: Path) -> None:
    postmaster = psutil.Process(int((data_dir / "postgres" / PID_FILE).read_text().split()[0]))
    for process in (postmaster, *postmaster.children()):
        with suppress(psutil.NoSuchProcess):
            process.kill()


async def is_answered(telegram: TelegramServer, serving: "asyncio.Task[None]") -> None:
    """Return when somebody is told a tweet, or nobody serves any more."""
    alice, chat = telegram.alone("Alice")
    while not serving.done():
        message = await alice.says(chat, HEADLINE)
        for _ in range(200):
            if serving.done() or any("mark my words" in answer.text for answer in message.answers):
                return
            await asyncio.sleep(0.1)

"""The command on a database of the test's own, in this process or in another one."""

import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from bot.cli.main import load, main
from db.pool import Database
from tests.bot.command_line import PROGRAM, Done
from tests.bot.forking import end_server
from tests.database import Clones
from tests.isolation import forked_workers

Invoke = Callable[..., Done]
load_once = cache(load)  # what typer reads from a function is the same each time


@pytest.fixture(scope="session", autouse=True)
def _fork_server() -> Iterator[None]:
    yield
    end_server()


@pytest.fixture(scope="module", autouse=True)
def _forked_workers() -> Iterator[None]:
    with forked_workers():
        yield


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of a fresh database with all tables, which commands of this test use."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    return database_url


@pytest.fixture
async def storage(database_url: str) -> AsyncIterator[Database]:
    """An open pool on a database of the test's own."""
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this test find no database."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/x")


@pytest.fixture(scope="session")
def _demo_url(_clones: Clones, run_folder: Path, worker_id: str) -> Iterator[str]:
    with _clones.clone() as url:
        # Before any test: its environment is not there yet.
        home = run_folder / f"demo-{worker_id}"
        environment = {"DATABASE_URL": url, "HOME": str(home), "PRESAGIO_DATA_DIR": str(home)}
        subprocess.run([PROGRAM, "demo"], env=environment, check=True, capture_output=True)
        yield url


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries that draw are not installed."""
    monkeypatch.setattr("bot.card.find_spec", lambda _: None)


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Invoke]:
    """Run a command in this process: much faster than starting another one."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", [PROGRAM.name, *arguments])
        monkeypatch.setattr("bot.cli.main.load", load_once)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return Done(code or 0, *capsys.readouterr())

    yield call
    root.handlers[:] = before
    root.setLevel(level)  # loggers remember what they were asked about until it is set so


@pytest.fixture
def demo(_demo_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of a database that holds the demo corpus; tests only read it."""
    monkeypatch.setenv("DATABASE_URL", _demo_url)
    return _demo_url

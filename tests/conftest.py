"""What every test may rely on: a database of its own, an empty environment, no network."""

import itertools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from db.server import EmbeddedServer
from tests.database import CARELESS, Clones, clones
from tests.network import only_loopback

# Read before the environment is emptied for the tests.
_EXTERNAL_SERVER = os.environ.get("PRESAGIO_TEST_DATABASE_URL")
_OURS = re.compile(r"PRESAGIO_.*|DATABASE_URL|OPENROUTER_API_KEY|.*_TOKEN|.*_SECRET|XDG_.*|PG.*")
_SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session")
def server_url(run_folder: Path) -> Iterator[str]:
    """URL of the run's server: PRESAGIO_TEST_DATABASE_URL, else an embedded one."""
    if _EXTERNAL_SERVER:
        yield _EXTERNAL_SERVER
        return
    with EmbeddedServer(run_folder, extra=CARELESS) as server:
        yield server.url("postgres")


@pytest.fixture(scope="session")
def _clones(server_url: str, run_folder: Path, worker_id: str) -> Iterator[Clones]:
    with clones(server_url, run_folder, worker_id) as ready:
        yield ready


@pytest.fixture
def database_url(_clones: Clones) -> Iterator[str]:
    """URL of a fresh database with all tables, for one test."""
    with _clones.clone() as url:
        yield url


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project."""
    if not _SHARED_DATA.is_dir():
        pytest.skip(f"real data is absent: {_SHARED_DATA}")
    return _SHARED_DATA


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("homes")
    return (base / str(number) for number in itertools.count(1))


@pytest.fixture(autouse=True)
def _own_environment(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting or secret of whoever runs the tests, and a home folder for each of them."""
    for name in list(os.environ):
        if _OURS.fullmatch(name):
            monkeypatch.delenv(name)
    home = next(_homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    monkeypatch.setenv("PRESAGIO_DATA_DIR", str(home / "presagio"))
    yield
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _refused() -> Iterator[list[str]]:
    with only_loopback() as refused:
        yield refused


@pytest.fixture(autouse=True)
def _no_network(_refused: list[str]) -> Iterator[None]:
    """Fail the test that tried to leave this machine, even if it took the refusal for an outage."""
    _refused.clear()
    yield
    assert not _refused, f"network access: {', '.join(_refused)}"

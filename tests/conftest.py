"""What every test may rely on: a database of its own, an empty environment, no network.

A run keeps its server and its home folders in a folder of its own, in memory where there is room.
pytest's `tmp_path` will not do for a server: every run that starts closes their common parent to
the account of the server.
"""

import functools
import gc
import itertools
import os
import re
import shutil
import signal
import ssl
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import hypothesis
import pytest

from db.embedded.server import EmbeddedServer
from db.pool import Database
from tests.behind_pooler import choose
from tests.database import (
    CARELESS,
    Clones,
    clones,
    execute,
    pool_on,
    types_asked_once,
    wait_for,
    with_database,
)
from tests.fakes.pooler import pooler
from tests.network import only_loopback
from tests.patience import PATIENCE
from tests.programs import require_program

# Read before the environment is emptied for the tests.
_EXTERNAL = os.environ.get("PRESAGIO_TEST_DATABASE_URL")
_POOLER = os.environ.get("PRESAGIO_TEST_POOLER")
_OURS = re.compile(r"PRESAGIO_.*|DATABASE_URL|[A-Z]+_API_KEY|.*_TOKEN|.*_SECRET|XDG_.*|PG.*")
_TESTS = Path(__file__).resolve().parent
_SHARED_DATA = _TESTS.parents[1] / "shared" / "data"


# Time limits a test example would make tests depend on how busy the machine is. The same examples
# each time: a first run is green or red for everybody. `make test-slow` looks for new ones.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True, max_examples=30)
hypothesis.settings.register_profile("random", deadline=None, max_examples=500)
_PROFILE = os.environ.get("PRESAGIO_TEST_PROPERTIES", "project")
hypothesis.settings.load_profile(_PROFILE)
# For properties whose examples take long. Those of the random profile are as many as all others'.
FEW_EXAMPLES = hypothesis.settings(
    max_examples=20 if _PROFILE == "project" else hypothesis.settings().max_examples
)

_ALL_SLOW = re.compile(r"^pytestmark = pytest\.mark\.slow\b", re.MULTILINE)
_RUN = pytest.StashKey[Path]()
_RUN_FOLDER = "PRESAGIO_TEST_RUN_FOLDER"
_RUN_PREFIX = "presagio-run-"
_MEMORY = Path("/dev/shm")
_ROOM = 3 * 2**30  # bytes; a run needs less than one
_DAY = 24 * 60 * 60


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of the run before its workers start; they find it in the environment."""
    if not hasattr(config, "workerinput"):
        os.environ[_RUN_FOLDER] = str(_new_run_folder())
    config.stash[_RUN] = Path(os.environ[_RUN_FOLDER])
    # A shell that starts the tests in the background has them, and all they start, ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Make the collector of garbage pass over the tests: what is collected stays to the end.

    What a test leaves in circles may wait for its end, and for that of the next ones.
    """
    gc.disable()
    _import_share(session.config)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20 * gc.get_threshold()[0])
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Import a part of all tests first, another in each worker, where all are to be collected.

    Workers that go through a new clone side by side would each compile every test.
    """
    given = getattr(config, "workerinput", None)
    if not given or [config.rootpath / name for name in config.args] != [_TESTS]:
        return
    number, workers = int(given["workerid"].removeprefix("gw")), given["workercount"]
    for path in sorted(_TESTS.rglob("test_*.py"))[number::workers]:
        if not pytest_ignore_collect(path, config):
            with suppress(Exception, pytest.skip.Exception):  # told when it is collected
                import_module(".".join(path.relative_to(_TESTS.parent).with_suffix("").parts))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module all of whose tests are slow where they are not wanted."""
    if config.option.markexpr != "not slow" or not collection_path.name.startswith("test_"):
        return None
    return bool(_ALL_SLOW.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that names programs which are not here: `make setup` installs none."""
    for marker in item.iter_markers("needs"):
        for name in marker.args:
            require_program(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Behind a pooler, run what goes through it."""
    if _POOLER:
        choose(config, items)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder of the run after its workers have ended."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(config.stash[_RUN], ignore_errors=True)


def _roomy_memory() -> Path | None:
    """Return a file system in memory that has room for databases, or None.

    A new database has a thousand small files: on a disk they cost a second of processor time.
    """
    if sys.platform == "win32" or not os.access(_MEMORY, os.W_OK):
        return None
    status = os.statvfs(_MEMORY)
    # Some tests start programs that they have copied.
    usable = status.f_bavail * status.f_frsize >= _ROOM and not status.f_flag & os.ST_NOEXEC
    return _MEMORY if usable else None


def _passable_folder() -> Path | None:
    """Return a folder for temporary files into which root's servers can follow, or None for the
    usual one: TMPDIR may be root's alone, and servers run as somebody else."""
    if sys.platform == "win32" or os.geteuid():
        return None
    places = (Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp"))
    return next((place for place in places if _is_passable(place)), None)


def _is_passable(folder: Path) -> bool:
    return all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.parents))


def _new_run_folder() -> Path:
    place = _roomy_memory() or _passable_folder()
    folder = Path(tempfile.mkdtemp(prefix=_RUN_PREFIX, dir=place))
    folder.chmod(0o711)
    mine = folder.stat()
    for other in folder.parent.glob(f"{_RUN_PREFIX}*"):
        status = other.stat()
        if status.st_uid == mine.st_uid and status.st_mtime < mine.st_mtime - _DAY:
            _remove_dead_run(other)
    return folder


def _remove_dead_run(folder: Path) -> None:
    if (folder / "postgres" / "postmaster.pid").exists():
        with EmbeddedServer(folder):  # its last user leaves, so the server stops
            pass
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    """A folder that all workers of this run share."""
    return pytestconfig.stash[_RUN]


@pytest.fixture
def server_folder(run_folder: Path) -> Iterator[Path]:
    """A folder with a short path in which a test may start servers of its own."""
    folder = Path(tempfile.mkdtemp(prefix="s-", dir=run_folder))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_url(run_folder: Path) -> Iterator[str]:
    """URL of the run's server: PRESAGIO_TEST_DATABASE_URL, else an embedded one."""
    if _EXTERNAL:
        yield _EXTERNAL
        return
    with EmbeddedServer(run_folder, extra=CARELESS) as server:
        yield server.url("postgres")


@pytest.fixture(scope="session")
def _pooler_url(server_url: str, run_folder: Path) -> Iterator[str | None]:
    """URL of the pooler in front of the run's server, if PRESAGIO_TEST_POOLER names one."""
    if not _POOLER:
        yield None
        return
    # A question to a lost database fails before its test gives up.
    with pooler(server_url, run_folder, "default_pool_size = 20\nquery_wait_timeout = 5") as url:
        yield url


@pytest.fixture(scope="session")
def _clones(
    server_url: str, run_folder: Path, worker_id: str, _pooler_url: str | None
) -> Iterator[Clones]:
    with clones(server_url, run_folder, worker_id, _pooler_url) as ready:
        yield ready


@pytest.fixture
def database_url(_clones: Clones) -> Iterator[str]:
    """URL of a database with all tables and nothing in them, for one test."""
    with _clones.lend() as url:
        yield url


@pytest.fixture
def empty_url(server_url: str, database_url: str) -> Iterator[str]:
    """URL of a database without tables, for one test."""
    name = f"{urlsplit(database_url).path[1:]}_empty"
    wait_for(execute(server_url, f'CREATE DATABASE "{name}" TEMPLATE template0'))
    yield with_database(server_url, name)
    wait_for(execute(server_url, f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture(scope="session")
def _coffee(_clones: Clones) -> Iterator[Clones]:
    # With it come the stand-ins of all platforms.
    from tests.scenarios.stage import TWEETS, load_tweets

    with _clones.filled(lambda url: load_tweets(url, TWEETS)) as ready:
        yield ready


@pytest.fixture
def coffee_url(_coffee: Clones) -> Iterator[str]:
    """URL of a database whose corpus "demo" holds eight tweets about coffee, for one test."""
    with _coffee.lend() as url:
        yield url


@pytest.fixture
def direct_url(database_url: str, server_url: str) -> str:
    """The same past the pooler of this run, and without what sessions behind one need."""
    url = with_database(server_url, urlsplit(database_url).path[1:])
    if _POOLER:
        name = urlsplit(url).path[1:]
        wait_for(execute(url, f'ALTER ROLE CURRENT_USER IN DATABASE "{name}" RESET ALL'))
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open pool on a database with all tables and nothing in them."""
    async with pool_on(database_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project."""
    if not _SHARED_DATA.is_dir():
        pytest.skip(f"real data is absent: {_SHARED_DATA}")
    return _SHARED_DATA


@pytest.fixture(scope="session")
def _homes(run_folder: Path, worker_id: str) -> Iterator[Path]:
    return (run_folder / f"home-{worker_id}-{number}" for number in itertools.count(1))


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


@pytest.fixture(autouse=True)
def _no_embeddings(_own_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local model only where a test names it: each process would load it, each search ask it."""
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "null")
    if "bot.app" in sys.modules:  # for settings that a test reads from elsewhere
        chosen = sys.modules["bot.evidence"].open_embedders
        monkeypatch.setattr(
            "bot.app.open_embedders",
            lambda settings, *others: (
                None if settings.embeddings.backend == "auto" else chosen(settings, *others)
            ),
        )


@pytest.fixture(scope="session", autouse=True)
def _authorities() -> Iterator[None]:
    """Read the certificates of the world's authorities once, not for each client of each test."""
    with patch.object(ssl, "create_default_context", functools.cache(ssl.create_default_context)):
        yield


@pytest.fixture(scope="session", autouse=True)
def _asyncio_alone() -> Iterator[None]:
    """Look once for another event loop than asyncio's, not for each lock of each connection."""
    absent = find_spec("sniffio") is None
    if absent:
        sys.modules["sniffio"] = None  # type: ignore[assignment]  # as the import system has it
    yield
    if absent:
        del sys.modules["sniffio"]


@pytest.fixture(scope="session", autouse=True)
def _known_types() -> Iterator[None]:
    with types_asked_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _in_a_hurry() -> Iterator[None]:
    """Keep commands that let others go first from slowing down all tests that come after them."""
    with patch.object(os, "nice", lambda _: 0, create=True):
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient() -> Iterator[None]:
    """Let searches take their time: soon they answer without their log, or by words alone."""
    with (
        patch("db.logs._PATIENCE", PATIENCE),
        patch("engine.prophecy.meaning._QUERY_SECONDS", PATIENCE),
    ):
        yield


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

"""An ingest that is cut off: one clear line that says what stays; a second run completes it."""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import orjson
import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from db.embedded.postmaster import PID_FILE
from tests.bot.command_line import PROGRAM, Done, ask, finish, presagio, start, write_tweets
from tests.bot.conftest import Invoke
from tests.database import copy_with_owners, execute, wait_for
from tests.patience import PATIENCE

BATCHES = 12_000  # records: one whole batch and a part of the next
DOCUMENTS = "SELECT coalesce(sum(documents), 0)::int FROM corpus"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_tweets(tmp_path / "a.jsonl", range(BATCHES))


def before_insert(url: str, action: str) -> None:
    """Do something before each statement that inserts documents."""
    body = f"CREATE FUNCTION obstruct() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {action};"
    trigger = "CREATE TRIGGER obstruct BEFORE INSERT ON document FOR EACH STATEMENT"
    statements = (f"{body} RETURN NULL; END $$", f"{trigger} EXECUTE FUNCTION obstruct()")
    wait_for(execute(url, *statements))


def unobstructed(url: str) -> None:
    wait_for(execute(url, "DROP FUNCTION obstruct CASCADE"))


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def storing(url: str) -> bool:
    """Tell whether a command is writing documents at this moment."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    return bool(ask(url, f"{query} AND state = 'active' AND query ~ 'INSERT INTO docu[m]ent'"))


def assert_completes(invoke: Invoke, file: Path, total: int = BATCHES) -> None:
    """A second run stores the rest, and the statistics are what a recount gives."""
    again = invoke("ingest", str(file), "--json").json
    assert (again["read"], again["rejected"]) == (total, 0)
    assert_exact(invoke, total)


def assert_exact(invoke: Invoke, total: int) -> None:
    checks = {check["check"]: check for check in invoke("doctor", "--json").json_lines}
    assert checks["corpus tweets"]["detail"] == f"{total:,} documents, statistics exact"


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_signal_stops_ingest_in_one_line(
        self, invoke: Invoke, database: str, tmp_path: Path, number: int
    ) -> None:
        file = write_tweets(tmp_path / "a", range(50))
        before_insert(database, "PERFORM pg_sleep(600)")  # longer than `finish` waits
        process = start("ingest", str(file))
        until(lambda: storing(database))
        process.send_signal(number)
        done = finish(process)
        assert (done.code, done.out) == (128 + number, "")
        assert done.err == "Stopped. What was stored stays; the same command completes it.\n"
        until(lambda: not storing(database))  # the server was told, too
        unobstructed(database)
        assert ask(database, "SELECT count(*) FROM document") == 0
        assert_completes(invoke, file, total=50)

    @pytest.mark.slow
    @pytest.mark.parametrize("records", [0, 5], ids=["before", "within"])
    def test_signal_stops_ingest_waiting_for_stdin(
        self, database: str, tmp_path: Path, records: int
    ) -> None:
        content = write_tweets(tmp_path / "a", range(records)).read_bytes()
        reading, writing = os.pipe()
        process = start("ingest", str(write_tweets(tmp_path / "b", range(9))), "-", stdin=reading)
        os.close(reading)
        os.write(writing, content)
        until(lambda: readers(process))  # and wherever it is by then
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 143
        os.close(writing)


def readers(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    children = psutil.Process(process.pid).children()
    return [child for child in children if "engine.ingest.worker" in " ".join(child.cmdline())]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.slow
class TestReader:
    """The process in which files are read."""

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
    def test_reader_process_ends_with_the_command(
        self, database: str, file: Path, number: int
    ) -> None:
        before_insert(database, "PERFORM pg_sleep(600)")
        process = start("ingest", str(file))
        until(lambda: storing(database))
        [reader] = readers(process)
        process.send_signal(number)
        finish(process)
        assert psutil.wait_procs([reader], timeout=PATIENCE)[1] == []


def test_a_killed_one_is_completed_by_the_next(invoke: Invoke, database: str, file: Path) -> None:
    before_insert(database, f"IF ({DOCUMENTS}) > 0 THEN PERFORM pg_sleep(0.5); END IF")
    process = start("ingest", str(file))
    until(lambda: ask(database, DOCUMENTS) > 0)
    process.kill()
    finish(process)
    unobstructed(database)
    assert ask(database, "SELECT count(*) FROM document") in (10_000, BATCHES)
    assert_completes(invoke, file)


@pytest.mark.slow
def test_a_writer_whose_connection_is_cut_fails_in_one_line(
    invoke: Invoke, database: str, file: Path
) -> None:
    before_insert(database, f"IF ({DOCUMENTS}) > 0 THEN PERFORM pg_sleep(600); END IF")
    process = start("ingest", str(file))
    until(lambda: ask(database, DOCUMENTS) > 0 and storing(database))
    while process.poll() is None:
        ask(
            database,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        time.sleep(0.02)
    complaint = finish(process).complaint()
    assert complaint.endswith("10,000 records of this run are stored and stay.")
    unobstructed(database)
    assert ask(database, DOCUMENTS) == 10_000
    assert_completes(invoke, file)


@pytest.mark.slow
def test_a_full_disk_fails_in_one_line(invoke: Invoke, database: str, file: Path) -> None:
    full = "RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'"
    before_insert(database, f"IF ({DOCUMENTS}) > 0 THEN {full}; END IF")
    complaint = invoke("ingest", str(file)).complaint()
    assert complaint.startswith("The database server ran out of room: could not extend file")
    assert complaint.endswith(
        "Free some space and run the command again. 10,000 records of this run are stored and stay."
    )
    unobstructed(database)
    assert ask(database, DOCUMENTS) == ask(database, "SELECT count(*) FROM document") == 10_000
    assert_completes(invoke, file)


@pytest.mark.slow
def test_full_disk_at_the_start_claims_no_stored_records(
    invoke: Invoke, database: str, file: Path
) -> None:
    before_insert(database, "RAISE 'No space left on device' USING ERRCODE = '53100'")
    complaint = invoke("ingest", str(file)).complaint()
    assert complaint.endswith("Free some space and run the command again.")
    assert ask(database, DOCUMENTS) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs wait4")
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(database: str, tmp_path: Path) -> None:
    # A file of 300,000 records in which 3,000 come back: reading is the same, storing is short.
    content = write_tweets(tmp_path / "a", range(3_000)).read_bytes()
    file = tmp_path / "long.jsonl.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for _ in range(100):
            packed.write(content)
    # A process counts the memory of the one it was forked from, and the tests' own is large: a
    # small one in between starts the command.
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True)\n"
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))"
    )
    command = [sys.executable, "-c", script, str(PROGRAM), "ingest", str(file), "--json"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert orjson.loads(done.stdout)["read"] == 300_000
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stderr.split()[-1]) * unit < 250_000_000


@pytest.fixture(scope="session")
def _created(run_folder: Path, worker_id: str) -> Path:
    """A data folder whose database has all tables, to copy."""
    place = run_folder / f"cli-{worker_id}"
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "PRESAGIO_DATA_DIR": str(place)}
    assert presagio("init", env=environment).code == 0
    return place


@pytest.fixture
def embedded(
    server_folder: Path, _created: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A data folder with an embedded database, which commands of this test use."""
    place = server_folder / "d"
    copy_with_owners(_created, place)
    monkeypatch.setenv("PRESAGIO_DATA_DIR", str(place))
    yield place
    assert not (place / "postgres" / PID_FILE).exists()
    shutil.rmtree(place)


def embedded_url(place: Path) -> str:
    lines = (place / "postgres" / PID_FILE).read_text().splitlines()
    return f"postgresql://postgres@/presagio?host={lines[4]}&port={lines[3]}"


def begun(place: Path, file: Path) -> "subprocess.Popen[bytes]":
    """Start an ingest whose first batch is stored and whose second one is on its way."""
    process = start("ingest", str(file))
    until((place / "postgres" / PID_FILE).exists)

    def has_stored() -> bool:
        try:
            return bool(ask(embedded_url(place), DOCUMENTS))
        except (OSError, IndexError, asyncpg.PostgresError):  # it is not ready yet
            return False

    until(has_stored)
    return process


@pytest.mark.slow
class TestEmbeddedServer:
    def test_killed_server_fails_ingest_in_one_line(
        self, invoke: Invoke, embedded: Path, tmp_path: Path
    ) -> None:
        file = write_tweets(tmp_path / "a.jsonl", range(25_000))
        process = begun(embedded, file)
        pid = int((embedded / "postgres" / PID_FILE).read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        done = finish(process)
        lost = ("The connection to the database was lost", "The database cannot be reached")
        assert done.complaint().startswith(lost)
        assert done.err.count("\n") == 1
        assert_completes(invoke, file, total=25_000)

    @pytest.mark.needs("mount", "umount")
    @pytest.mark.skipif(sys.platform != "linux", reason="needs tmpfs")
    def test_full_disk_is_reported_and_ingest_continues_once_there_is_space(
        self, invoke: Invoke, embedded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small = embedded.parent / "small"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=76m,mode=711", "tmpfs", str(small)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount a small disk")
        try:
            copy_with_owners(embedded, small / "d")
            monkeypatch.setenv("PRESAGIO_DATA_DIR", str(small / "d"))
            file = write_tweets(tmp_path / "a.jsonl", range(30_000))
            # A server that cannot write its log either goes down before it can say why.
            reasons = ("No space left on device", "The connection to the database was lost")
            complaint = invoke("ingest", str(file)).complaint()
            assert any(said in complaint for said in reasons), complaint
            assert not (small / "d" / "postgres" / PID_FILE).exists()
            more = ["mount", "-o", "remount,size=400m", str(small)]
            subprocess.run(more, check=True)
            assert_completes(invoke, file, total=30_000)
        finally:
            subprocess.run(["umount", small], check=True)

    def test_is_released_when_a_signal_ends_it(self, embedded: Path, tmp_path: Path) -> None:
        file = write_tweets(tmp_path / "a.jsonl", range(BATCHES))
        process = begun(embedded, file)
        process.send_signal(signal.SIGINT)
        done: Done = finish(process)
        assert done.code == 130
        assert "Traceback" not in done.err
        assert not (embedded / "postgres" / PID_FILE).exists()

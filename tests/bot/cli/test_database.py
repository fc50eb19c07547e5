"""Backups and programs beside the database, as commands."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.database import _Heard
from bot.settings import load_settings
from db.embedded.postmaster import State, observe_server
from db.migrate import Migration, list_migrations
from tests.bot.command_line import ask, finish, presagio, start, write_tweets
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.database import execute, wait_for
from tests.fakes.pooler import pooler

CORPORA = "SELECT string_agg(name, ',' ORDER BY name) FROM corpus"


@pytest.fixture
def backup(database: str, tmp_path: Path, invoke: Invoke) -> Path:
    """A backup of this test's database, which then holds another corpus too."""
    tweets = str(write_tweets(tmp_path / "tweets.jsonl", range(30)))
    assert invoke("ingest", tweets, "--corpus", "kept").code == 0
    file = tmp_path / "presagio.dump"
    done = invoke("backup", str(file), "--json")
    assert done.json == {"file": str(file), "bytes": file.stat().st_size}
    assert invoke("ingest", tweets, "--corpus", "new").code == 0
    return file


def test_a_backup_comes_back(database: str, backup: Path, invoke: Invoke) -> None:
    refused = invoke("restore", str(backup))
    assert "holds corpora or chats" in refused.complaint(2)
    assert ask(database, CORPORA) == "kept,new"
    done = invoke("restore", str(backup), "--replace")
    assert done.out == f"Restored 1 corpus with 30 documents from {backup}.\n"
    assert ask(database, CORPORA) == "kept"
    found = invoke("search", "Rust and rain", "--corpus", "kept", "--no-llm", "--json")
    assert [hit["id"] for hit in found.json["hits"]] == ["0"]


def test_restore_refuses_or_skips_foreign_tables(
    database: str, backup: Path, invoke: Invoke
) -> None:
    wait_for(execute(database, "CREATE TABLE theirs AS SELECT 42 AS number"))
    file = str(backup.with_name("shared.dump"))
    assert invoke("backup", file).code == 0
    refused = invoke("restore", file, "--replace").complaint()
    assert "does not know: table theirs. Nothing was changed" in refused
    assert ask(database, CORPORA) == "kept,new"
    wait_for(execute(database, "UPDATE theirs SET number = 43"))
    assert invoke("restore", file, "--replace", "--known-only").code == 0
    assert ask(database, "SELECT number FROM theirs") == 43


def test_tables_of_a_newer_version_are_not_replaced(
    database: str, backup: Path, invoke: Invoke
) -> None:
    newer = "INSERT INTO migration VALUES (9999, 'x', repeat('a', 64))"
    wait_for(execute(database, newer, "CREATE FUNCTION of_tomorrow() RETURNS int RETURN 1"))
    said = invoke("restore", str(backup), "--replace").complaint()
    assert "newer version" in said
    assert "into an empty one" in said
    assert ask(database, CORPORA) == "kept,new"


def test_restore_refuses_while_other_processes_are_connected(
    database: str, backup: Path, invoke: Invoke
) -> None:
    with start("database", "run", "psql", stdin=-1) as idle:
        assert idle.stdin
        idle.stdin.write(b"SET application_name = 'presagio 1';\n\\! echo ready\n")
        idle.stdin.flush()
        assert idle.stdout
        assert any(b"ready" in line for line in idle.stdout)
        refused = invoke("restore", str(backup), "--replace")
        assert "Other processes" in refused.complaint()
        idle.stdin.close()
    assert ask(database, CORPORA) == "kept,new"


@pytest.mark.slow
def test_an_upgrade_says_so_and_can_be_undone(
    server_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    """As "There is a way back" in docs/database.md tells."""
    monkeypatch.setenv("PRESAGIO_DATA_DIR", str(server_folder))
    tweets = str(write_tweets(tmp_path / "tweets.jsonl", range(30)))
    assert invoke("ingest", tweets, "--corpus", "kept").code == 0
    newer = [
        *list_migrations(),
        Migration(9000, "since", "DROP TABLE web_cache; CREATE TABLE since ()"),
    ]
    with monkeypatch.context() as patched:
        patched.setattr("db.migrate.list_migrations", lambda: newer)
        upgraded = invoke("corpora", "list")
        assert "bringing them up to date (1 change)" in upgraded.err
        (file,) = server_folder.glob("*.dump")
        assert f"What was there is kept in {file};" in upgraded.err
        assert invoke("corpora", "list").err == ""
    assert "newer version" in invoke("corpora", "list").complaint()
    (server_folder / "postgres").rename(server_folder / "postgres.newer")
    assert invoke("restore", str(file)).code == 0
    found = invoke("search", "Rust and rain", "--corpus", "kept", "--no-llm", "--json")
    assert [hit["id"] for hit in found.json["hits"]] == ["0"]


def test_programs_are_not_run_through_a_pooler(
    direct_url: str,
    server_folder: Path,
    tmp_path: Path,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its sessions would have no search path afterwards, for everybody."""
    monkeypatch.setenv("DATABASE_URL", direct_url)
    file = str(tmp_path / "presagio.dump")
    assert invoke("backup", file).code == 0
    with pooler(direct_url, server_folder) as url:
        monkeypatch.setenv("DATABASE_URL", url)
        for arguments in (["backup", file], ["restore", file]):
            assert "the address of the server itself" in invoke(*arguments).complaint()


def test_unusable_backup_file_fails_in_one_line(
    database: str, tmp_path: Path, invoke: Invoke
) -> None:
    file = tmp_path / "file"
    assert invoke("restore", str(file)).code == 2
    file.write_text("no dump")
    assert "no backup that can be read" in invoke("restore", str(file)).complaint()
    nowhere = tmp_path / "no" / "file"
    written = f"{nowhere} cannot be written: No such file or directory."
    assert invoke("backup", str(nowhere)).complaint() == written


def test_a_failure_of_a_program_is_one_line(database: str, tmp_path: Path, backup: Path) -> None:
    wait_for(execute(database, "CREATE VIEW theirs AS SELECT name FROM corpus"))
    failed = forked("restore", str(backup), "--replace")
    assert "view theirs" in failed.complaint()


class TestRun:
    def test_programs_find_the_database(self, database: str, tmp_path: Path) -> None:
        (tmp_path / "db.py").write_text("raise SystemExit('not that db')")
        done = presagio("database", "run", "psql", "-Atc", "SELECT 6 * 7", cwd=tmp_path)
        assert (done.code, done.out, done.err) == (0, "42\n", "")
        script = "import os; print(os.environ['DATABASE_URL'])"
        done = forked("database", "run", "--", sys.executable, "-c", script)
        assert done.out == f"{database}\n"

    def test_the_exit_code_is_the_program_s(self, database: str) -> None:
        def code(*command: str) -> int:
            return forked("database", "run", *command).code

        assert code("/bin/sh", "-c", "exit 5") == 5
        assert code("/bin/sh", "-c", "kill -9 $$") == 128 + 9
        assert code("no-such-program") == 127
        assert code() == 2

    @pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, ""), (signal.SIGTERM, "ended\n")])
    def test_signals_are_forwarded_to_the_program(
        self, database: str, number: int, said: str
    ) -> None:
        trap = "trap 'echo ended; exit 7' TERM; echo started; read line; exit 8"
        with start("database", "run", "/bin/sh", "-c", trap, stdin=-1) as running:
            assert running.stdout
            assert running.stdout.readline() == b"started\n"
            running.send_signal(number)  # Ctrl-C at a terminal reaches the program by itself
            if said:  # before its input ends, which would end it too
                assert running.stdout.readline() == said.encode()
            done = finish(running)
        assert done.code == (7 if said else 8)

    def test_a_signal_that_comes_too_early_is_not_lost(self) -> None:
        heard = _Heard()
        heard.hear(signal.SIGTERM, None)
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        heard.hand_on_to(process)
        assert process.wait() == -signal.SIGTERM

    @pytest.mark.slow
    def test_the_embedded_server_runs_as_long(
        self, server_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("PRESAGIO_DATA_DIR", str(server_folder))
        assert load_settings().data_dir == server_folder
        empty = presagio("backup", str(tmp_path / "x.dump"))
        assert "nothing to back up" in empty.complaint()
        done = presagio("database", "run", "psql", "-Atc", "SHOW data_directory")
        assert done.out == f"{server_folder / 'postgres'}\n"
        assert observe_server(server_folder / "postgres")[0] is State.ABSENT

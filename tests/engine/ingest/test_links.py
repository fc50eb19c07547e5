"""Links, pipes and devices in what strangers packed: told about, and neither followed nor read.

A test that opened a pipe would wait for ever, so each of these ends by not doing so.
"""

import os
import socket
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import orjson
import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from engine.errors import InputError
from engine.ingest.exports import list_exports
from engine.ingest.records import SourceRequest
from engine.ingest.sources import Source, source_at
from engine.ingest.streams import regular_file
from tests.engine.ingest.reading import TWEET, documents, javascript, records

NOTE = "---\ndate: 2019-05-23\n---\nIt is coming."
SECRET = "---\ndate: 2019-05-23\n---\nOPENROUTER_API_KEY=sk-secret"
TWEETS = javascript("window.YTD.tweets.part0", [{"tweet": TWEET}])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone with one good note, and a secret that lies outside."""
    (tmp_path / "secret.md").write_text(SECRET)
    clone = tmp_path / "clone"
    (clone / "inner").mkdir(parents=True)
    (clone / ".git").mkdir()
    (clone / ".git" / "config").write_text(SECRET)
    (clone / "good.md").write_text(NOTE)
    return clone


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        folder = os.open(path.parent, os.O_RDONLY)  # such an address is short
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)


def link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


LEAVES = "a link that leaves the folder"
NOWHERE = "a link that leads nowhere"
HIDDEN = "a link to what is hidden"
NO_FILE = "not a regular file"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (link("/proc/self/environ"), LEAVES),
        (link("/dev/zero"), LEAVES),
        (link("../secret.md"), LEAVES),
        (link("inner/../../secret.md"), LEAVES),
        (link("."), NO_FILE),
        (link("inner"), NO_FILE),
        (link("notes.md"), NOWHERE),
        (link("missing.md"), NOWHERE),
        (link("good.md/x"), NOWHERE),
        (link(".git/config"), HIDDEN),
        (fifo, NO_FILE),
        (unix_socket, NO_FILE),
    ],
)
def test_a_link_or_pipe_inside_a_folder_is_rejected_by_name(
    folder: Path, make: Callable[[Path], None], reason: str
) -> None:
    make(folder / "notes.md")
    stored, rejects = documents(folder)
    assert [document.external_id for document in stored] == ["good.md"]
    # A link to a folder is no file, and is passed over as such.
    expected = [] if (folder / "notes.md").is_dir() else [(f"{folder}/notes.md", reason)]
    assert [(reject.file, reject.reason) for reject in rejects] == expected
    with pytest.raises(InputError, match=reason):
        source_at(str(folder)).open("notes.md")


def test_a_link_through_another_folder_is_followed_to_its_end(folder: Path) -> None:
    (folder / "out").symlink_to("..")
    (folder / "notes.md").symlink_to("out/secret.md")
    (folder / "circle").symlink_to(".")
    (folder / "again.md").symlink_to("circle/circle/good.md")
    stored, rejects = documents(folder)
    assert [document.external_id for document in stored] == ["again.md", "good.md"]
    assert [reject.reason for reject in rejects] == [LEAVES]


def test_a_linked_folder_is_not_walked(folder: Path) -> None:
    (folder / "outside").symlink_to("..")
    (folder / "inner" / "loop").symlink_to("..")
    stored, rejects = documents(folder)
    assert ([document.external_id for document in stored], rejects) == (["good.md"], [])


def test_a_path_given_by_the_user_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    for target in ("clone", "clone/good.md"):
        named = tmp_path / "named"
        named.symlink_to(target)
        stored, rejects = documents(named)
        assert ([document.text for document in stored], rejects) == (["It is coming."], [])
        named.unlink()


@pytest.mark.parametrize("make", [link("/dev/zero"), link("/dev/null"), fifo, unix_socket])
def test_a_path_given_by_the_user_must_be_a_file_or_folder(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "named")
    with pytest.raises(InputError, match="neither a regular file nor a folder") as refused:
        records(tmp_path / "named")
    assert "give -" in (refused.value.fix or "")


def test_a_folder_of_links_alone_says_why_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.md").symlink_to("/proc/self/environ")
    stored, rejects = documents(tmp_path)
    assert stored == []
    assert [reject.reason for reject in rejects] == [LEAVES]


@pytest.mark.parametrize("named", ["", "data/tweets.js"])
def test_linked_companion_files_are_rejected(tmp_path: Path, named: str) -> None:
    data = tmp_path / "export" / "data"
    data.mkdir(parents=True)
    (data / "tweets.js").write_bytes(TWEETS)
    (tmp_path / "account.js").write_bytes(
        javascript("window.YTD.account.part0", [{"account": {"username": "eve"}}])
    )
    (data / "account.js").symlink_to("../../account.js")
    (data / "note-tweet.js").symlink_to("/dev/zero")
    (document,), rejects = documents(tmp_path / "export" / named)
    assert document.author is None
    reasons = sorted((reject.file, reject.reason) for reject in rejects)
    assert reasons == [(f"{data}/account.js", LEAVES), (f"{data}/note-tweet.js", LEAVES)]


@pytest.mark.parametrize(
    ("kind", "reason"), [(stat.S_IFLNK, "a link"), (stat.S_IFIFO, NO_FILE), (stat.S_IFCHR, NO_FILE)]
)
def test_a_link_or_device_in_a_zip_is_refused(tmp_path: Path, kind: int, reason: str) -> None:
    entry = zipfile.ZipInfo("notes.md")
    entry.create_system, entry.external_attr = 3, (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as packed:
        packed.writestr(entry, "/proc/self/environ")
        packed.writestr("good.md", NOTE)
        packed.mkdir("folder")
    stored, rejects = documents(tmp_path / "notes.zip")
    assert [document.external_id for document in stored] == ["good.md"]
    assert [(reject.file, reject.reason) for reject in rejects] == [
        (f"{tmp_path}/notes.zip/notes.md", reason)
    ]


def test_a_file_replaced_by_a_link_or_pipe_since_listing_is_refused(folder: Path) -> None:
    source = source_at(str(folder))
    assert source.names() == ["good.md"]
    (folder / "good.md").unlink()
    (folder / "good.md").symlink_to("../secret.md")
    with pytest.raises(InputError, match=LEAVES):
        source.open("good.md")
    with pytest.raises(OSError):
        regular_file(folder / "good.md", follow=False)
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="neither a regular file"):
        regular_file(folder / "pipe", follow=True)


def test_a_link_beside_exports_is_told_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_bytes(orjson.dumps(TWEET | {"full_text": "a secret"}))
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent" / "tweets.jsonl").write_bytes(orjson.dumps(TWEET))
    (tmp_path / "sent" / "more.jsonl").symlink_to("../secret.jsonl")
    contents = list_exports(SourceRequest(str(tmp_path / "sent")))
    assert [part.where for part in contents.exports] == [f"{tmp_path}/sent/tweets.jsonl"]
    assert [(file.name, LEAVES in file.reason) for file in contents.unread] == [
        ("more.jsonl", True)
    ]


DAMAGED = b"\x1f\x8b\x08\x00" + b"x" * 50


def is_open(file: Path) -> bool:
    return str(file) in {opened.path for opened in psutil.Process().open_files()}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "damaged.gz").write_bytes(DAMAGED)
    return source_at(str(tmp_path / "damaged.gz"))


def test_a_damaged_file_is_closed_while_its_error_lives(source: Source, tmp_path: Path) -> None:
    # The error holds the frames of its traceback, and they the stream.
    with pytest.raises(InputError, match="is damaged") as kept:
        source.head("damaged.gz")
    assert not is_open(tmp_path / "damaged.gz"), kept


def test_a_file_that_was_looked_at_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "tweets.jsonl"
    file.write_bytes(b"{}\n")
    source = source_at(str(file))
    with source.open("tweets.jsonl"):
        assert is_open(file)
    assert source.head("tweets.jsonl") == b"{}\n"
    assert not is_open(file)

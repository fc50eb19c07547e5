"""Which format a file has, and files that cannot be used."""

import gzip
import io
import os
import random
import zipfile
from pathlib import Path

import orjson
import pytest

from engine.errors import InputError, UnknownFormat, UsageError
from engine.ingest.detect import READERS
from engine.ingest.exports import list_exports
from engine.ingest.record_stream import open_source
from engine.ingest.records import Contents, SourceRequest
from engine.ingest.sources import source_at
from engine.ingest.streams import refused_by_system
from tests.engine.ingest.formats import test_chatgpt, test_mastodon, test_telegram, test_whatsapp
from tests.engine.ingest.formats.test_chatgpt import BRANCHED, OF_DEEPSEEK
from tests.engine.ingest.formats.test_trump_archive import (
    COLUMNS,
    NEW,
    OLD_COLUMNS,
    OLD_ROW,
    ROW,
)
from tests.engine.ingest.reading import TWEET, accepted, documents, javascript, records, table

PLAIN = {"id": "1", "text": "a", "created_at": "2009-05-04T18:54:25Z"}
PAGE = {"data": [{"id": "1", "text": "a"}], "meta": {}}


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (orjson.dumps(PLAIN), "jsonl"),
        (b"broken\n\n" + orjson.dumps(PLAIN), "jsonl"),
        (orjson.dumps(PLAIN | {"is_retweet": False, "favorites": 1, "author": "a"}), "jsonl"),
        (orjson.dumps(TWEET), "api"),
        (orjson.dumps(PAGE), "api"),
        (orjson.dumps(PLAIN | {"author_id": "1"}), "api"),
        (orjson.dumps([{"tweet": TWEET}]), "x-archive"),
        (javascript("window.YTD.tweets.part0", [{"tweet": TWEET}]), "x-archive"),
        (javascript("Grailbird.data.tweets_2012_05", [TWEET]), "x-archive"),
        (orjson.dumps([NEW]), "trump-archive-json"),
        (table(ROW, columns=COLUMNS), "trump-archive-csv"),
        (table(OLD_ROW, columns=OLD_COLUMNS), "trump-archive-csv"),
        (b"text,id,created_at\na,1,2009-05-04T18:54:25Z\n", "csv"),
    ],
)
def test_a_format_is_recognised_by_its_content(data: bytes, form: str, tmp_path: Path) -> None:
    for content in (data, b"\xef\xbb\xbf" + data, b"\n " + data, gzip.compress(data)):
        with open_source(SourceRequest("-"), stdin=io.BytesIO(content)) as stream:
            assert stream.opened.format == form
            found = list(stream)
        (tmp_path / "file").write_bytes(content)
        with open_source(SourceRequest(str(tmp_path / "file"))) as stream:
            assert (stream.opened.format, len(list(stream))) == (form, len(found))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"hello", "is not recognised. Known formats"),
        (b'{"a": 1}', "is not recognised: its records hold a. Say which hold texts"),
        (b'{"id": "1", "text": "\\ud83d"}\n', "no line can be read: not valid JSON: "),
        (b"a,b,c\n1,2,3\n", "is not recognised: its first line is a, b, c. Say which hold"),
        ('{"a": "caf\u00e9"}'.encode("latin-1"), "is not written in UTF-8. Save it as UTF-8."),
        (b"Rar!\x1a\x07\x01\x00", "is a RAR archive. Unpack it"),
        (b"a,b\x00\x01\n1,2", "is neither text nor an archive that can be opened. If it is"),
        ("ab".encode("utf-16"), "is written in UTF-16. Save it as UTF-8."),
        (b"PK\x03\x04xxxx", "is a zip. Give its path"),
        (b"outbox.json".ljust(257, b"\0") + b"ustar\x0000", "is a tar archive. Unpack it"),
    ],
)
def test_an_unknown_format_is_refused_with_a_hint(data: bytes, message: str) -> None:
    with pytest.raises(UnknownFormat, match=message.replace(".", r"\.")) as caught:
        records(data)
    if "Known" in str(caught.value):
        assert all(name in str(caught.value) for name in READERS)


@pytest.mark.parametrize("name", ["export.zip", "tweets.js", "tweets.jsonl", "tweets.CSV"])
def test_a_page_that_was_saved_instead_of_an_export_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("<!DOCTYPE html><title>Log in</title>")
    with pytest.raises(UnknownFormat, match=r"is a web page, not an export\. Log in"):
        records(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "members"),
    [("a.xlsx", ["[Content_Types].xml", "xl/workbook.xml"]), ("a.ods", ["content.xml"])],
)
def test_a_workbook_says_how_to_save_it(tmp_path: Path, name: str, members: list[str]) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as book:
        for member in members:
            book.writestr(member, "<x/>")
    with pytest.raises(UnknownFormat, match=r"is a workbook .* Save as, CSV UTF-8\."):
        records(tmp_path / name)


def test_an_explicit_format_disables_detection() -> None:
    good, rejects = records(orjson.dumps(PLAIN), form="trump-archive-json")
    assert [record.format for record in good] == ["trump-archive-json"]
    assert rejects == []
    assert records(b"nonsense", form="jsonl")[1][0].line == 1


def test_a_format_that_does_not_exist_is_a_wrong_usage() -> None:
    with pytest.raises(UsageError, match=r"no format 'xml'.*jsonl"):
        records(b"", form="xml")


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_says_so(data: bytes) -> None:
    with pytest.raises(InputError, match="is empty"):
        records(data)


def test_a_database_of_sqlite_is_named(tmp_path: Path) -> None:
    for name in ("chats.db", "chats.json"):
        (tmp_path / name).write_bytes(b"SQLite format 3\0" + bytes(200))
        with pytest.raises(UnknownFormat, match="is a database of SQLite"):
            open_source(SourceRequest(str(tmp_path / name)))


def test_a_path_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, message in [
        (tmp_path / "absent.jsonl", "does not exist. Check the path."),
        (tmp_path / ("x" * 300), "cannot be read"),
        (tmp_path / "a\x00b", "is no path"),
    ]:
        with pytest.raises(InputError, match=message):
            records(path)
    with pytest.raises(InputError, match="'' is no path"):  # rather than the working folder
        open_source(SourceRequest(""))
    assert "may not be read" in str(refused_by_system("f", PermissionError()))
    assert "Input/output error" in str(refused_by_system("f", OSError(5, os.strerror(5))))


@pytest.mark.parametrize("form", ["auto", "jsonl"])
def test_a_folder_or_zip_without_tweets_says_what_was_looked_for(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "notes.bin").write_text("x")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("__MACOSX/data/tweets.js", "x")
    for path in (folder, tmp_path / "a.zip"):
        with pytest.raises(InputError, match=r"holds no export .*data/tweets\.js"):
            records(path, form=form)


def _damage(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes(20) + data[len(data) // 2 + 20 :]


@pytest.mark.parametrize("damage", [lambda d: d[:-30], _damage, lambda d: d[:14]])
def test_a_damaged_gzip_is_named_and_its_beginning_is_good(damage: object, tmp_path: Path) -> None:
    noise = random.Random(0)  # what follows the damage is noise too, and reads alike each time
    lines = [orjson.dumps(PLAIN | {"text": noise.randbytes(40).hex()}) for _ in range(30_000)]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(damage(gzip.compress(b"\n".join(lines), 1)))  # type: ignore[operator]  # above
    read = 0
    with pytest.raises(InputError, match=r"a\.jsonl\.gz is damaged or cut off"):  # noqa: SIM117 - the error is raised inside
        with open_source(SourceRequest(str(path))) as stream:
            for _record in stream:
                read += 1
    assert read < len(lines)


def zip_of(path: Path, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/tweets.js", content)
    return path


def test_a_damaged_zip_is_named(tmp_path: Path) -> None:
    tweets = [{"tweet": TWEET | {"text": os.urandom(40).hex()}} for _ in range(5_000)]
    path = zip_of(tmp_path / "a.zip", javascript("window.YTD.tweets.part0", list(tweets)))
    whole = path.read_bytes()
    for data in (whole[:-30], whole[:1000] + bytes(100) + whole[1100:], b"PK\x03\x04"):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"a\.zip.* is damaged or cut off"):
            records(path)


def test_a_zip_with_a_password_is_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", b"x")
    data = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(header) + flags] |= 1  # the bit that says "encrypted"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"cannot be unpacked here.*Unpack it by hand"):
        records(path)


def test_a_zip_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tweets = javascript("window.YTD.tweets.part0", [{"tweet": TWEET}] * 2_000)
    path = zip_of(tmp_path / "a.zip", tweets)
    assert len(records(path)[0]) == 2_000
    monkeypatch.setattr("engine.ingest.sources.LARGEST_MEMBER", len(tweets) - 1)
    with pytest.raises(InputError, match="unpacks to far more than an export holds"):
        records(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_progress_of_a_file_counts_its_own_bytes(pack: object, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(pack(b"\n".join([orjson.dumps(PLAIN)] * 50_000)))  # type: ignore[operator]
    with open_source(SourceRequest(str(path))) as stream:
        next(stream)
        assert 0 < stream.source.bytes_read <= path.stat().st_size == stream.opened.total_bytes
        assert sum(1 for _ in stream) == 49_999
        assert stream.source.bytes_read == stream.opened.total_bytes


def test_standard_input_has_no_known_length_and_stays_open() -> None:
    data = orjson.dumps(PLAIN)
    stdin = io.BytesIO(data)
    with open_source(SourceRequest("-"), stdin=stdin) as stream:
        assert len(list(stream)) == 1
        assert (stream.opened.total_bytes, stream.source.bytes_read) == (None, len(data))
    assert not stdin.closed


def _open_files() -> set[str]:
    return {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files here")
def test_stopping_early_closes_all_files(tmp_path: Path) -> None:
    files = javascript("window.YTD.tweets.part0", [{"tweet": TWEET}] * 3)
    archive = zip_of(tmp_path / "a.zip", files)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress((orjson.dumps(PLAIN) + b"\n") * 3))
    before = _open_files()
    for path in (archive, packed):
        with open_source(SourceRequest(str(path))) as stream:
            next(stream)
        with open_source(SourceRequest(str(path))):
            pass
    assert _open_files() == before
    assert source_at(str(archive)).holds("data/tweets.js")


TWEETS = javascript("window.YTD.tweets.part0", [{"tweet": TWEET}])


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    """What one person has downloaded, side by side."""
    files = {
        "twitter/data/tweets.js": TWEETS,
        "twitter/data/ad-engagements.js": javascript("window.YTD.ad.part0", [{"a": 1}, {"a": 2}]),
        "twitter/data/block.js": b"window.YTD.block.part0 = [ ]",
        "mastodon/outbox.json": test_mastodon.outbox(test_mastodon.created()),
        "telegram/result.json": orjson.dumps(test_telegram.chat(test_telegram.MESSAGE)),
        "chatgpt/conversations.json": orjson.dumps([BRANCHED]),
        "claude/conversations.json": orjson.dumps([test_chatgpt.TALK]),
        "deepseek/conversations.json": orjson.dumps([OF_DEEPSEEK]),
        "Chat mit Bob.txt": test_whatsapp.ANDROID.encode(),
        "notes.txt": b"The harbour of the north cost a lot.",
        "posts.csv": b"id,created_at,text\n1,2020-01-01T10:00:00Z,A boat\n",
        "broken.csv": b"a,b\n1,2\n",
        "book.pdf": b"%PDF-1.4",
        "picture.jpg": b"x",
    }
    for name, content in files.items():
        file = tmp_path / "downloads" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    with zipfile.ZipFile(tmp_path / "downloads" / "phone.zip", "w") as archive:
        archive.writestr("Ana ile sohbet.txt", test_whatsapp.IOS)
    return tmp_path / "downloads"


def formats(contents: Contents) -> set[str]:
    return {part.format for part in contents.exports}


def test_every_export_of_a_folder_is_read(downloads: Path) -> None:
    contents = list_exports(SourceRequest(str(downloads)))
    assert formats(contents) == {
        *("x-archive", "mastodon", "telegram", "chatgpt", "claude", "deepseek", "whatsapp"),
        *("documents", "auto"),
    }
    stored = accepted(downloads)
    texts = {document.text or document.parts[0].text for document in stored}
    assert {"Open & shut", "Will it rain?", "Rain", "A boat", "It may not."} <= texts
    assert {d.platform for d in stored} >= {"x", "mastodon", "telegram", "claude", "deepseek"}


def test_exports_may_lie_beside_a_chat_without_folders_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text("12/03/2023, 20:11 - Ana: A boat\n")
    (tmp_path / "outbox.json").write_bytes(b'{"type": "OrderedCollection", "orderedItems": []}')
    (tmp_path / "essay.txt").write_text("A dam is a wall.\n")
    (tmp_path / "posts.csv").write_text("id,created_at,text\n1,2019-05-23,The dam\n")
    contents = list_exports(SourceRequest(str(tmp_path)))
    assert formats(contents) == {"whatsapp", "mastodon", "documents", "auto"}


def test_what_is_there_and_not_read_is_named_with_its_records(downloads: Path) -> None:
    unread = {
        file.name: file.records for file in list_exports(SourceRequest(str(downloads))).unread
    }
    assert unread == {"twitter/data/ad-engagements.js": 2, "broken.csv": None, "book.pdf": None}


def test_a_folder_of_one_export_has_no_loose_files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tweets.js").write_bytes(TWEETS)
    (tmp_path / "README.txt").write_text("This is your archive.")
    contents = list_exports(SourceRequest(str(tmp_path)))
    assert formats(contents) == {"x-archive"}
    assert [file.name for file in contents.unread] == ["README.txt"]


def test_what_came_with_a_chat_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "_chat.txt").write_text(test_whatsapp.IOS, encoding="utf-8")
    (tmp_path / "00000013-map.pdf").write_bytes(b"%PDF-1.4")
    contents = list_exports(SourceRequest(str(tmp_path)))
    assert formats(contents) == {"whatsapp"}
    assert [file.name for file in contents.unread] == ["00000013-map.pdf"]


def test_posts_to_a_circle_are_private_and_those_to_a_community_are_not(tmp_path: Path) -> None:
    for name, number in (("tweets", 1), ("community-tweet", 2), ("twitter-circle-tweet", 3)):
        variable = f"window.YTD.{name.replace('-', '_')}.part0"
        tweet = TWEET | {"id_str": str(number), "full_text": name}
        (tmp_path / f"{name}.js").write_bytes(javascript(variable, [{"tweet": tweet}]))
    contents = list_exports(SourceRequest(str(tmp_path)))
    assert [part.format for part in contents.exports] == ["x-circle", "x-archive"]
    assert {d.text for d in documents(tmp_path)[0]} == {
        *("tweets", "community-tweet", "twitter-circle-tweet")
    }
    (tmp_path / "twitter-circle-tweet.js").write_bytes(
        b"window.YTD.twitter_circle_tweet.part0 = [ ]"
    )
    assert formats(list_exports(SourceRequest(str(tmp_path)))) == {"x-archive"}

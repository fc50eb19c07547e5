"""Folders and zips that hold several exports, and what is in them and not read."""

import zipfile
from pathlib import Path

import orjson
import pytest

from engine.ingest.detect import list_exports
from engine.ingest.records import Contents, SourceRequest
from tests.engine.ingest.formats import test_claude, test_mastodon, test_telegram, test_whatsapp
from tests.engine.ingest.formats.test_chatgpt import BRANCHED, OF_DEEPSEEK
from tests.engine.ingest.reading import TWEET, documents, javascript

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
        "claude/conversations.json": orjson.dumps([test_claude.TALK]),
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
    stored, rejects = documents(downloads)
    assert rejects == []
    texts = {document.text or document.parts[0].text for document in stored}
    assert {"Open & shut", "Will it rain?", "Rain", "A boat", "It may not."} <= texts
    assert {d.platform for d in stored} >= {"x", "mastodon", "telegram", "claude", "deepseek"}


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
        *("tweets", "community-tweet", "twitter-circle-tweet"),
    }
    (tmp_path / "twitter-circle-tweet.js").write_bytes(
        b"window.YTD.twitter_circle_tweet.part0 = [ ]"
    )
    assert formats(list_exports(SourceRequest(str(tmp_path)))) == {"x-archive"}

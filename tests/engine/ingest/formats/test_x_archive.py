"""The official export in its three layouts, as folder, zip and single file."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, SourceRequest
from tests.engine.ingest.reading import TWEET, accepted, documents, javascript, records

LONG = "A text about pigs & cows that goes on for so long that X has cut it"
AT = "2024-04-06T20:02:23.000Z"


def tweet(identity: str, **fields: object) -> dict[str, object]:
    return {"tweet": TWEET | {"id_str": identity, "id": identity} | fields}


def note(text: str, at: str = AT, urls: Sequence[object] = ()) -> dict[str, object]:
    core = {"text": text, "urls": list(urls)}
    return {"noteTweet": {"noteTweetId": "99", "createdAt": at, "core": core}}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


NEWEST = {
    "data/tweets.js": javascript("window.YTD.tweets.part0", [tweet("1")]),
    "data/tweets-part1.js": javascript("window.YTD.tweets.part1", [tweet("2")]),
    "data/tweets-part10.js": javascript("window.YTD.tweets.part10", [tweet("10")]),
    "data/tweets-part2.js": javascript("window.YTD.tweets.part2", [tweet("3")]),
    "data/deleted-tweets.js": javascript("window.YTD.deleted_tweets.part0", [tweet("8")]),
    "data/like.js": javascript("window.YTD.like.part0", [{"like": {"tweetId": "9"}}]),
    "data/manifest.js": b'window.__THAR_CONFIG = {"userInfo": {"userName": "someone"}}',
    "data/tweets_media/a.jpg": b"",
}
OLDER = {
    "tweet.js": javascript("window.YTD.tweet.part0", [tweet("1")]),
    "tweet-part1.js": javascript("window.YTD.tweet.part1", [tweet("2")]),
    "account.js": javascript(
        "window.YTD.account.part0", [{"account": {"username": "someone", "email": "x"}}]
    ),
}
MONTHLY = {
    "data/js/tweets/2012_05.js": javascript(
        "Grailbird.data.tweets_2012_05", [TWEET | {"user": {"screen_name": "someone"}}]
    ),
    "data/js/tweets/2012_06.js": javascript("Grailbird.data.tweets_2012_06", []),
    "data/js/tweet_index.js": b"var tweet_index = []",
}


@pytest.mark.parametrize(
    ("files", "ids"),
    [(NEWEST, ["1", "2", "3", "10"]), (OLDER, ["1", "2"]), (MONTHLY, [TWEET["id_str"]])],
)
def test_folder_and_zip_are_alike(files: dict[str, bytes], ids: list[str], tmp_path: Path) -> None:
    folder = write(tmp_path / "export", files)
    prefixed = {f"twitter-2024/{name}": content for name, content in files.items()}
    for source in (folder, packed(tmp_path, files), packed(tmp_path, prefixed)):
        stored = accepted(source)
        assert [document.external_id for document in stored] == ids
        assert {document.author for document in stored} == {"someone"}


def test_the_data_folder_alone_is_sufficient(tmp_path: Path) -> None:
    whole, _ = records(write(tmp_path, NEWEST))
    data, _ = records(tmp_path / "data")
    assert [r.external_id for r in data] == [r.external_id for r in whole]
    assert [r.digest for r in data] == [r.digest for r in whole]


def test_a_single_file_is_read_together_with_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, NEWEST)
    (document,), _ = documents(tmp_path / "data" / "tweets-part1.js")
    assert (document.external_id, document.author) == ("2", "someone")


def test_standard_input_has_no_neighbouring_files() -> None:
    (document,), _ = documents(NEWEST["data/tweets.js"], defaults=Defaults(author="me"))
    assert (document.external_id, document.author) == ("1", "me")


def test_a_file_that_holds_no_tweets_says_what_it_holds(tmp_path: Path) -> None:
    write(tmp_path, NEWEST)
    with pytest.raises(InputError, match=r"like\.js holds like, not tweets.*tweets\.js"):
        records(tmp_path / "data" / "like.js")


@pytest.mark.parametrize("manifest", [b"", b"window.__THAR_CONFIG = {", b"{}", b"[]"])
def test_an_export_without_a_manifest_has_no_author(manifest: bytes, tmp_path: Path) -> None:
    write(tmp_path, {"tweets.js": NEWEST["data/tweets.js"], "manifest.js": manifest})
    (document,), rejects = documents(tmp_path)
    assert (document.author, rejects) == (None, [])


def cut_text(text: str, end: str) -> str:
    return text.replace("&", "&amp;") + end


@pytest.mark.parametrize(
    ("full_text", "note_text", "shown"),
    [
        (cut_text(LONG, "…"), f"{LONG} off. End", f"{LONG} off. End"),
        (cut_text(LONG, "… https://t.co/abc"), f"{LONG} off", f"{LONG} off"),
        (cut_text("@a @b " + LONG, "…"), f"{LONG} off", f"@a @b {LONG} off"),
        (
            cut_text("https://t.co/one " + LONG, "…"),
            f"https://t.co/two {LONG} off",
            f"https://x.org/2 {LONG} off",
        ),
        (LONG, LONG, LONG),
        (cut_text(LONG, "…"), "Something else", LONG + "…"),
        ("Short…", "Short and sweet", "Short…"),
    ],
)
def test_a_cut_text_is_completed_from_its_note(
    full_text: str, note_text: str, shown: str, tmp_path: Path
) -> None:
    urls = [{"shortUrl": "https://t.co/two", "expandedUrl": "https://x.org/2"}]
    at = "Sat Apr 06 20:02:22 +0000 2024"
    files = {
        "tweets.js": javascript(
            "window.YTD.tweets.part0", [tweet("1", full_text=full_text, created_at=at)]
        ),
        "note-tweet.js": javascript("window.YTD.note_tweet.part0", [{"noteTweet": {}}]),
        "note-tweet-part1.js": javascript(
            "window.YTD.note_tweet.part1", [{}, note("Another"), note(note_text, urls=urls)]
        ),
    }
    (document,), rejects = documents(write(tmp_path, files))
    assert (document.text, rejects) == (shown, [])


def test_a_note_of_another_time_is_not_used(tmp_path: Path) -> None:
    cut = tweet("1", full_text=LONG + "…", created_at="Sat Apr 06 20:03:23 +0000 2024")
    files = {
        "tweets.js": javascript("window.YTD.tweets.part0", [cut]),
        "note-tweet.js": javascript("window.YTD.note_tweet.part0", [note(LONG + " off")]),
    }
    (document,), _ = documents(write(tmp_path, files))
    assert document.text == LONG + "…"


def test_a_note_that_appears_later_changes_the_digest(tmp_path: Path) -> None:
    cut = tweet("1", full_text=LONG + "…", created_at="Sat Apr 06 20:02:23 +0000 2024")
    write(tmp_path, {"tweets.js": javascript("window.YTD.tweets.part0", [cut])})
    (before,), _ = records(tmp_path)
    notes = javascript("window.YTD.note_tweet.part0", [note(LONG + " off")])
    write(tmp_path, {"note-tweet.js": notes})
    (after,), _ = records(tmp_path)
    assert before.digest != after.digest


def test_a_damaged_tweet_does_not_hide_the_rest_of_its_file_or_the_next(tmp_path: Path) -> None:
    first = NEWEST["data/tweets.js"].replace(b'"lang": "en"', b'"lang": "\xff"', 1)
    files = {
        "tweets.js": first[:-1] + b',{"tweet":{"id_str":"4"}}, 5]',
        "tweets-part1.js": NEWEST["data/tweets-part1.js"][:-20],
        "tweets-part2.js": NEWEST["data/tweets-part2.js"],
    }
    stored, rejects = documents(write(tmp_path, files))
    assert [document.external_id for document in stored] == ["3"]
    assert sorted((Path(r.file).name, r.line, r.reason[:30]) for r in rejects) == [
        ("tweets-part1.js", 1, "record 1: the end of this reco"),
        ("tweets.js", 1, "record 1: invalid UTF-8"),
        ("tweets.js", 2, "record 2: no text"),
        ("tweets.js", 3, "record 3: not an object"),
    ]


def test_progress_reaches_its_end(tmp_path: Path) -> None:
    for source in (write(tmp_path / "export", NEWEST), packed(tmp_path, NEWEST)):
        with open_source(SourceRequest(str(source))) as stream:
            assert stream.source.bytes_read <= (stream.opened.total_bytes or 0)
            assert len(list(stream)) == 4
            assert stream.source.bytes_read == stream.opened.total_bytes


@pytest.mark.parametrize("order", [1, -1])
def test_of_an_edited_post_the_last_version_counts(order: int) -> None:
    info = {"initial": {"editTweetIds": ["11", "12"]}}
    versions = [
        {"tweet": TWEET | {"id_str": number, "full_text": text, "edit_info": info}}
        for number, text in (("11", "the damn"), ("12", "the dam"))
    ]
    export = javascript("window.YTD.tweets.part0", [*versions[::order]])
    assert [d.text for d in documents(export)[0]] == ["the dam"]
    alone = javascript("window.YTD.tweets.part0", [versions[0]])
    assert [d.text for d in documents(alone)[0]] == ["the damn"]

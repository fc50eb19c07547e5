"""Reddit's export."""

import zipfile
from pathlib import Path

from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, records, table

LINK = "https://www.reddit.com/r/ships/comments/p1/canals/"
POST = {
    "id": "p1",
    "permalink": LINK,
    "date": "2023-01-15 12:34:56 UTC",
    "ip": "",
    "subreddit": "ships",
    "gildings": "0",
    "title": "Canals are narrow",
    "url": "",
    "body": "One ship, and it is blocked.",
}
COMMENT = {
    "id": "c1",
    "permalink": f"{LINK}c1/",
    "date": "2023-01-16 08:00:00 UTC",
    "ip": "",
    "subreddit": "ships",
    "gildings": "0",
    "link": LINK,
    "parent": "",
    "body": "It was to be expected",
    "media": "",
}


def export(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("posts.csv", table(POST))
        archive.writestr("comments.csv", table(COMMENT))
        archive.writestr("post_headers.csv", table(POST))
        archive.writestr("statistics.csv", "statistic,value\naccount name,ana_paz\n")
    return path


def test_posts_and_comments_of_an_account_are_read(tmp_path: Path) -> None:
    stored = accepted(export(tmp_path / "export.zip"))
    comment, post = sorted(stored, key=lambda document: document.external_id)
    assert (post.external_id, post.author) == ("t3_p1", "ana_paz")
    assert post.text == "Canals are narrow\n\nOne ship, and it is blocked."
    assert post.created_at
    assert post.created_at.isoformat() == "2023-01-15T12:34:56+00:00"
    assert (post.url, post.thread, post.flags) == (LINK, "t3_p1", Flag.NONE)
    assert (comment.external_id, comment.reply_to) == ("t1_c1", "t3_p1")
    assert (comment.thread, comment.flags) == ("t3_p1", Flag.REPLY)
    assert comment.meta == {"channel": "ships"}


def test_one_file_is_recognised_and_a_relative_link_is_completed() -> None:
    (record,), _ = records(table(COMMENT))
    assert record.format == "reddit"
    path = {"permalink": "/r/ships/comments/p1/canals/c1/", "parent": "t1_c0"}
    (comment,), _ = documents(table(COMMENT | path))
    assert (comment.url, comment.reply_to) == (f"{LINK}c1/", "t1_c0")


def test_removed_text_is_rejected() -> None:
    _, (reject,) = documents(table(COMMENT | {"body": "[removed]"}))
    assert (reject.line, reject.reason) == (2, "the text was removed")


def test_a_folder_of_other_posts_is_not_detected_as_reddit(tmp_path: Path) -> None:
    from engine.ingest.formats.reddit import RedditReader

    assert RedditReader().members(["posts.csv"]) == ()
    assert RedditReader().members(["a/posts.csv", "a/checkfile.csv"]) == ["a/posts.csv"]

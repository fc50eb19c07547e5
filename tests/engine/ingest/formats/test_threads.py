"""Threads' export, which lies in that of Instagram."""

from pathlib import Path

import orjson

from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, records

WORDS = {
    "media": [
        {
            "uri": "",
            "creation_timestamp": 1754466859,
            "title": "caf\u00c3\u00a9 tomorrow",
            "text_app_post": {"reply_control": "everyone", "is_reply": True},
        }
    ]
}
PICTURE = {
    "title": "A canal",
    "creation_timestamp": 1754500000,
    "media": [{"uri": "media/posts/202508/x.jpg", "creation_timestamp": 1754500000, "title": ""}],
}


def export(*posts: object) -> bytes:
    return orjson.dumps({"text_post_app_text_posts": list(posts)}, option=orjson.OPT_INDENT_2)


def test_threads_posts_and_replies_are_read(tmp_path: Path) -> None:
    place = tmp_path / "your_instagram_activity" / "threads"
    place.mkdir(parents=True)
    (place / "threads_and_replies.json").write_bytes(export(WORDS, PICTURE))
    for source in (tmp_path, place / "threads_and_replies.json"):
        (answer, picture) = accepted(source)
        assert (answer.text, answer.flags, answer.platform) == (
            "café tomorrow",
            Flag.REPLY,
            "threads",
        )
        assert (picture.text, picture.flags) == ("A canal", Flag.MEDIA)
        assert picture.meta == {"attachments": ["x.jpg"]}
        assert answer.created_at
        assert answer.created_at.isoformat() == "2025-08-06T07:54:19+00:00"


def test_an_export_of_both_places_is_read_whole(tmp_path: Path) -> None:
    medium = {"uri": "y.jpg", "creation_timestamp": 1754500000, "title": ""}
    posts = [{"title": "A square", "creation_timestamp": 1754500000, "media": [medium]}]
    (tmp_path / "posts_1.json").write_bytes(orjson.dumps(posts))
    (tmp_path / "threads_and_replies.json").write_bytes(export(WORDS))
    for only_mine in (False, True):
        found = accepted(tmp_path, defaults=Defaults(only_mine=only_mine))
        assert [(post.text, post.platform) for post in found] == [
            ("A square", "instagram"),
            ("café tomorrow", "threads"),
        ]
    alone, _ = documents(tmp_path, form="threads")
    assert [post.external_id for post in alone] == [found[1].external_id]


def test_ids_are_stable_across_exports() -> None:
    first = [record.external_id for record in records(export(WORDS, PICTURE))[0]]
    again = [record.external_id for record in records(export(PICTURE, WORDS))[0]]
    assert first == again[::-1]
    assert len(set(first)) == 2

"""Posts of Instagram."""

from pathlib import Path

import orjson
import pytest

from engine.corpora import Document
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

MEDIA = {"uri": "media/posts/a.jpg", "creation_timestamp": 1577880000,
         "title": "caf\u00c3\u00a9 #Storm @Bob"}  # fmt: skip
ALBUM = {
    "media": [MEDIA | {"title": ""}, MEDIA | {"title": "", "uri": "media/posts/b.mp4"}],
    "title": "Two ships",
    "creation_timestamp": 1577880060,
}


def one(post: object) -> Document:
    (document,) = accepted(orjson.dumps([post]))
    return document


def test_the_caption_of_a_single_picture_is_read_from_the_picture() -> None:
    document = one({"media": [MEDIA]})
    assert (document.text, document.tags, document.mentions) == (
        "café #Storm @Bob", ("storm",), ("bob",),
    )  # fmt: skip
    assert moment_of(document).isoformat() == "2020-01-01T12:00:00+00:00"
    assert (document.platform, document.flags) == ("instagram", Flag.MEDIA)


def test_the_caption_of_an_album_is_read_from_the_post() -> None:
    document = one(ALBUM)
    assert (document.text, moment_of(document).minute) == ("Two ships", 1)
    assert document.meta["attachments"] == ["a.jpg", "b.mp4"]


@pytest.mark.parametrize(("uri", "text"), [("x/a.jpg", "[photo]"), ("x/a.mp4", "[video]")])
def test_a_post_without_a_caption_is_shown_and_not_searched(uri: str, text: str) -> None:
    document = one({"media": [MEDIA | {"title": "", "uri": uri}]})
    assert (document.text, document.search_text) == (text, "")


def test_the_export_is_recognised_and_tells_whose_it_is(tmp_path: Path) -> None:
    posts = tmp_path / "your_instagram_activity" / "media"
    posts.mkdir(parents=True)
    (posts / "posts_1.json").write_bytes(orjson.dumps([ALBUM]))
    (posts / "posts_2.json").write_bytes(orjson.dumps([{"media": [MEDIA]}]))
    (posts / "stories.json").write_text("{}")
    user = {"string_map_data": {"Username": {"value": "ana"}}}
    (tmp_path / "personal_information.json").write_bytes(orjson.dumps({"profile_user": [user]}))
    stored, rejects = documents(tmp_path)
    assert [document.author for document in stored] == ["ana", "ana"]
    assert rejects == []
    assert records(posts / "posts_1.json")[0][0].format == "instagram"

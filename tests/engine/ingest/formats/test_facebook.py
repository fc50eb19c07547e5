"""Posts of Facebook, with their damaged letters mended."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpora import Document
from engine.ingest.formats.meta import repair_encoding
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

POST = {
    "timestamp": 1577880000,
    "data": [{"post": "caf\u00c3\u00a9 \u00f0\u009f\u0098\u0080 #Storm"}],
    "title": "Ana updated her status.",
}
PICTURE = {"media": {"uri": "photos/a.jpg", "creation_timestamp": 1, "description": "Two ships"}}


def one(**fields: object) -> Document:
    (document,) = accepted(orjson.dumps([POST | fields]))
    return document


@given(st.text())
def test_mis_encoded_text_is_repaired(text: str) -> None:
    try:
        damaged = text.encode().decode("latin-1")
    except UnicodeEncodeError:
        return  # a lone surrogate is no text
    assert repair_encoding([{damaged: damaged}, 5]) == [{text: text}, 5]


def test_correctly_encoded_text_is_unchanged() -> None:
    assert repair_encoding("café 😀") == "café 😀"


def test_a_post_says_what_the_export_says() -> None:
    document = one()
    assert (document.text, document.tags) == ("café 😀 #Storm", ("storm",))
    assert moment_of(document).isoformat() == "2020-01-01T12:00:00+00:00"
    assert (document.platform, document.flags) == ("facebook", Flag.NONE)
    assert document.attribution == f"standard input#{document.external_id}"


@pytest.mark.parametrize(
    ("fields", "text", "searched"),
    [
        ({"attachments": [{"data": [PICTURE]}]}, "Two ships", "Two ships"),
        ({"attachments": [{"data": [{"external_context": {"url": "https://a.example/b"}}]}]},
         "https://a.example/b", ""),
        ({"attachments": [{"data": [{"media": {"uri": "photos/b.jpg"}}]}]},
         "Ana updated her status.", ""),
        ({"attachments": [{"data": [{"media": {"uri": "photos/b.jpg"}}]}], "title": None},
         "[media]", ""),
    ],
)  # fmt: skip
def test_a_post_without_text_is_described_by_its_content(
    fields: dict[str, object], text: str, searched: str
) -> None:
    document = one(data=[], **fields)
    assert (document.text, document.search_text) == (text, searched)


def test_pictures_are_listed_as_attachments() -> None:
    document = one(attachments=[{"data": [PICTURE]}])
    assert (document.flags, document.meta["attachments"]) == (Flag.MEDIA, ["a.jpg"])
    assert document.meta["beside"] == ["image: Two ships"]
    assert "Two ships" in document.search_text


def test_posts_of_the_same_second_get_different_ids() -> None:
    other = POST | {"data": [{"post": "Rain"}]}
    good, _ = records(orjson.dumps([POST, other, POST]))
    assert len({record.external_id for record in good}) == 2


@pytest.mark.parametrize(
    "name", ["your_posts_1.json", "your_posts__check_ins__photos_and_videos_1.json"]
)
def test_the_owner_is_read_from_the_export(tmp_path: Path, name: str) -> None:
    posts = tmp_path / "your_facebook_activity" / "posts"
    posts.mkdir(parents=True)
    (posts / name).write_bytes(orjson.dumps([POST]))
    profile = tmp_path / "personal_information" / "profile_information.json"
    profile.parent.mkdir()
    profile.write_bytes(
        orjson.dumps({"profile_v2": {"name": {"full_name": "Jos\u00c3\u00a9 Paz"}}})
    )
    (document,), _ = documents(tmp_path)
    assert document.author == "José Paz"
    assert records(posts / name)[0][0].format == "facebook"


def test_only_the_post_without_a_time_is_rejected() -> None:
    bad = {"data": [{"post": "x"}], "timestamp": None}
    stored, rejects = documents(orjson.dumps([POST, bad]))
    assert len(stored) == 1
    assert [reject.reason for reject in rejects] == ["record 2: no date"]

"""Posts and messages of Facebook, Instagram, Messenger and Threads, their letters mended."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpora import Document
from engine.ingest.formats.meta import repair_encoding
from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

FACEBOOK_POST = {
    "timestamp": 1577880000,
    "data": [{"post": "caf\u00c3\u00a9 \u00f0\u009f\u0098\u0080 #Storm"}],
    "title": "Ana updated her status.",
}
PICTURE = {"media": {"uri": "photos/a.jpg", "creation_timestamp": 1, "description": "Two ships"}}


def post(**fields: object) -> Document:
    (document,) = accepted(orjson.dumps([FACEBOOK_POST | fields]))
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
    document = post()
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
    document = post(data=[], **fields)
    assert (document.text, document.search_text) == (text, searched)


def test_pictures_are_listed_as_attachments() -> None:
    document = post(attachments=[{"data": [PICTURE]}])
    assert (document.flags, document.meta["attachments"]) == (Flag.MEDIA, ["a.jpg"])
    assert document.meta["beside"] == ["image: Two ships"]
    assert "Two ships" in document.search_text


def test_posts_of_the_same_second_get_different_ids() -> None:
    other = FACEBOOK_POST | {"data": [{"post": "Rain"}]}
    good, _ = records(orjson.dumps([FACEBOOK_POST, other, FACEBOOK_POST]))
    assert len({record.external_id for record in good}) == 2


@pytest.mark.parametrize(
    "name", ["your_posts_1.json", "your_posts__check_ins__photos_and_videos_1.json"]
)
def test_the_owner_is_read_from_the_export(tmp_path: Path, name: str) -> None:
    posts = tmp_path / "your_facebook_activity" / "posts"
    posts.mkdir(parents=True)
    (posts / name).write_bytes(orjson.dumps([FACEBOOK_POST]))
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
    stored, rejects = documents(orjson.dumps([FACEBOOK_POST, bad]))
    assert len(stored) == 1
    assert [reject.reason for reject in rejects] == ["record 2: no date"]


# Facebook's export as HTML

OLD_PAGE = """<html><body><div class="_a706"><div class="_3-95 _2pi0 _2lej uiBoxWhite noborder">
<div class="_2pin">Ana Paz updated her status.</div>
<div class="_2pin"><div>The dam will break</div></div>
<div class="_3-94 _2lem">Apr 15, 2022, 5:20 AM</div></div></div></body></html>"""
NEW_PAGE = """<html><body><div class="_3-95 _a6-g"><div class="_2ph_ _a6-h _a6-i">Ana Paz</div>
<div class="_2ph_ _a6-p"><div><div class="_2pin"><div>La presa se romperá</div></div></div></div>
<div class="_3-94 _a6-o"><a href="x"><div class="_a72d">15 abr 2022 5:20:33</div></a></div></div>
<div class="_3-95 _a6-g"><div class="_2ph_ _a6-p"><img src="a.jpg"></div>
<div class="_3-94 _a6-o"><div class="_a72d">16 abr 2022 5:20:33</div></div></div></body></html>"""


def write_page(folder: Path, page: str, name: str = "posts/your_posts_1.html") -> Path:
    file = folder / "your_facebook_activity" / name
    file.parent.mkdir(parents=True)
    file.write_text(page, encoding="utf-8")
    return folder


def test_posts_of_both_layouts_are_read(tmp_path: Path) -> None:
    (old,) = accepted(write_page(tmp_path / "old", OLD_PAGE))
    assert (old.text, moment_of(old).isoformat()) == (
        "The dam will break",
        "2022-04-15T05:20:00+00:00",
    )
    stored = accepted(write_page(tmp_path / "new", NEW_PAGE))
    assert [d.text for d in stored] == ["La presa se romperá", "[photo]"]
    assert moment_of(stored[0]).isoformat() == "2022-04-15T05:20:33+00:00"


def test_messages_as_pages_are_refused_by_name(tmp_path: Path) -> None:
    stored, (reject,) = documents(
        write_page(tmp_path, OLD_PAGE, "messages/inbox/bob/message_1.html")
    )
    assert stored == []
    assert "Facebook or Instagram" in reject.reason


# Instagram

MEDIA = {"uri": "media/posts/a.jpg", "creation_timestamp": 1577880000,
         "title": "caf\u00c3\u00a9 #Storm @Bob"}  # fmt: skip
ALBUM = {
    "media": [MEDIA | {"title": ""}, MEDIA | {"title": "", "uri": "media/posts/b.mp4"}],
    "title": "Two ships",
    "creation_timestamp": 1577880060,
}


def picture_post(post: object) -> Document:
    (document,) = accepted(orjson.dumps([post]))
    return document


def test_the_caption_of_a_single_picture_is_read_from_the_picture() -> None:
    document = picture_post({"media": [MEDIA]})
    assert (document.text, document.tags, document.mentions) == (
        "café #Storm @Bob", ("storm",), ("bob",),
    )  # fmt: skip
    assert moment_of(document).isoformat() == "2020-01-01T12:00:00+00:00"
    assert (document.platform, document.flags) == ("instagram", Flag.MEDIA)


def test_the_caption_of_an_album_is_read_from_the_post() -> None:
    document = picture_post(ALBUM)
    assert (document.text, moment_of(document).minute) == ("Two ships", 1)
    assert document.meta["attachments"] == ["a.jpg", "b.mp4"]


@pytest.mark.parametrize(("uri", "text"), [("x/a.jpg", "[photo]"), ("x/a.mp4", "[video]")])
def test_a_post_without_a_caption_is_shown_and_not_searched(uri: str, text: str) -> None:
    document = picture_post({"media": [MEDIA | {"title": "", "uri": uri}]})
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


# Threads' export, which lies in that of Instagram

ANSWER = {
    "media": [
        {
            "uri": "",
            "creation_timestamp": 1754466859,
            "title": "caf\u00c3\u00a9 tomorrow",
            "text_app_post": {"reply_control": "everyone", "is_reply": True},
        }
    ]
}
CANAL = {
    "title": "A canal",
    "creation_timestamp": 1754500000,
    "media": [{"uri": "media/posts/202508/x.jpg", "creation_timestamp": 1754500000, "title": ""}],
}


def threads(*posts: object) -> bytes:
    return orjson.dumps({"text_post_app_text_posts": list(posts)}, option=orjson.OPT_INDENT_2)


def test_threads_posts_and_replies_are_read(tmp_path: Path) -> None:
    place = tmp_path / "your_instagram_activity" / "threads"
    place.mkdir(parents=True)
    (place / "threads_and_replies.json").write_bytes(threads(ANSWER, CANAL))
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
    (tmp_path / "threads_and_replies.json").write_bytes(threads(ANSWER))
    for only_mine in (False, True):
        found = accepted(tmp_path, defaults=Defaults(only_mine=only_mine))
        assert [(post.text, post.platform) for post in found] == [
            ("A square", "instagram"),
            ("café tomorrow", "threads"),
        ]
    alone, _ = documents(tmp_path, form="threads")
    assert [post.external_id for post in alone] == [found[1].external_id]


def test_ids_are_stable_across_exports() -> None:
    first = [record.external_id for record in records(threads(ANSWER, CANAL))[0]]
    again = [record.external_id for record in records(threads(CANAL, ANSWER))[0]]
    assert first == again[::-1]
    assert len(set(first)) == 2


# Messages of Messenger and Instagram

CHAT = {
    "participants": [{"name": "Ana Paz"}, {"name": "Bob Boat"}],
    "messages": [
        {
            "sender_name": "Ana Paz",
            "timestamp_ms": 1650001200000,
            "content": "ma\u00c3\u00b1ana salimos",
            "reactions": [{"reaction": "x", "actor": "Bob Boat"}],
        },
        {
            "sender_name": "Bob Boat",
            "timestamp_ms": 1650001100000,
            "content": "see this",
            "share": {"link": "https://example.org/dam", "share_text": "The dam breaks"},
        },
        {"sender_name": "Bob Boat", "timestamp_ms": 1650001000000, "photos": [{"uri": "m/a.jpg"}]},
        {"sender_name": "Bob Boat", "timestamp_ms": 1650000900000, "is_unsent": True},
        {"sender_name": "Bob Boat", "timestamp_ms": 1650000800000, "type": "Subscribe"},
    ],
    "title": "Bob Boat",
    "thread_path": "inbox/bob_1",
}
ENCRYPTED = {
    "participants": ["Ana Paz", "Bob Boat"],
    "threadName": "Bob Boat",
    "messages": [
        {"senderName": "Bob Boat", "timestamp": 1650001300000, "text": "at the quay", "media": []}
    ],
}


def test_a_chat_is_read_with_its_senders() -> None:
    stored = accepted(orjson.dumps(CHAT), defaults=Defaults(author="Ana Paz"))
    assert [(d.text, d.author, d.role) for d in stored] == [
        ("mañana salimos", "Ana Paz", "me"),
        ("see this", "Bob Boat", "others"),
        ("[photo]", "Bob Boat", "others"),
    ]
    assert "dam breaks" in stored[1].search_text
    assert (stored[2].flags, stored[2].meta["attachments"]) == (Flag.MEDIA, ["a.jpg"])
    assert {d.thread for d in stored} == {"bob_1"}


def test_an_encrypted_chat_is_read() -> None:
    (message,), _ = documents(orjson.dumps(ENCRYPTED))
    assert (message.text, message.author) == ("at the quay", "Bob Boat")


def test_a_download_of_encrypted_chats_is_read_without_notices(tmp_path: Path) -> None:
    notice = {"senderName": "Bob Boat", "timestamp": 1, "text": "Reacted ❤ to your message "}
    chat = ENCRYPTED | {"messages": [*ENCRYPTED["messages"], notice]}
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "Bob Boat_7.json").write_bytes(orjson.dumps(chat))
    assert [d.text for d in documents(tmp_path)[0]] == ["at the quay"]


def test_chats_of_both_places_lie_in_one_download(tmp_path: Path) -> None:
    for place in ("your_facebook_activity", "your_instagram_activity"):
        folder = tmp_path / place / "messages" / "inbox" / "bob_1"
        folder.mkdir(parents=True)
        (folder / "message_1.json").write_bytes(orjson.dumps(ENCRYPTED | {"title": place}))
    stored, _ = documents(tmp_path)
    assert {d.platform for d in stored} == {"messenger", "instagram"}

"""The outbox of a Mastodon account."""

from pathlib import Path

import orjson
import pytest

from engine.corpora import Document
from engine.ingest.exports import list_exports
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, Reject, SourceRequest
from engine.values import Flag, Kind
from tests.engine.ingest.reading import accepted, documents, moment_of

ANA = "https://example.social/users/ana"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
NOTE = {
    "id": f"{ANA}/statuses/7",
    "type": "Note",
    "published": "2022-11-11T17:33:26Z",
    "url": "https://example.social/@ana/7",
    "attributedTo": ANA,
    "to": [PUBLIC],
    "cc": [f"{ANA}/followers"],
    "conversation": "tag:example.social,2022-11-11:objectId=1:objectType=Conversation",
    "content": "<p>The storm is coming</p>",
    "contentMap": {"en": "<p>The storm is coming</p>"},
}
BOOST = {
    "id": f"{ANA}/statuses/8/activity",
    "type": "Announce",
    "actor": ANA,
    "published": "2022-11-15T00:04:06Z",
    "object": "https://other.example/users/bob/statuses/1",
}


def created(**note: object) -> dict[str, object]:
    return {"id": f"{ANA}/statuses/7/activity", "type": "Create", "actor": ANA,
            "object": NOTE | note}  # fmt: skip


def outbox(*activities: object, context: object = "https://www.w3.org/ns/activitystreams") -> bytes:
    whole = {"@context": context, "id": "outbox.json", "type": "OrderedCollection",
             "totalItems": 9, "orderedItems": list(activities)}  # fmt: skip
    return orjson.dumps(whole)


def one(activity: object) -> Document:
    (document,) = accepted(outbox(activity))
    return document


def test_a_post_says_what_the_outbox_says() -> None:
    document = one(created())
    assert (document.external_id, document.text) == (NOTE["id"], "The storm is coming")
    assert moment_of(document).isoformat() == "2022-11-11T17:33:26+00:00"
    assert (document.author, document.lang) == ("ana@example.social", "en")
    assert (document.platform, document.thread) == ("mastodon", NOTE["conversation"])
    assert (document.url, document.reply_to) == (NOTE["url"], None)
    assert document.attribution == "standard input#7"
    assert document.flags == Flag.NONE
    assert document.meta == {"domain": "example.social", "visibility": "public"}


def test_a_boost_holds_the_url_of_the_original() -> None:
    document = one(BOOST)
    assert document.flags == Flag.REPOST
    assert document.text == document.url == BOOST["object"]
    assert document.search_text == ""
    assert (document.external_id, document.attribution) == (BOOST["id"], "standard input#8")


def test_a_content_warning_is_placed_above_the_text() -> None:
    document = one(created(summary="weather"))
    assert document.text == "weather\n\nThe storm is coming"
    assert document.meta["content_warning"] == "weather"


def test_tags_and_mentions_are_those_that_the_outbox_names() -> None:
    tag = [
        {"type": "Mention", "href": "https://b.example/users/bob", "name": "@Bob@b.example"},
        {"type": "Hashtag", "href": "https://x.example/tags/storm", "name": "#Storm"},
    ]
    document = one(created(tag=tag, content="<p>@bob #storm not a #tag</p>"))
    assert (document.mentions, document.tags) == (("bob@b.example",), ("storm",))


def test_a_reply_names_what_it_answers() -> None:
    document = one(created(inReplyTo=f"{ANA}/statuses/6"))
    assert document.reply_to == f"{ANA}/statuses/6"
    assert document.flags == Flag.REPLY


def test_a_picture_without_words_says_what_its_author_wrote_about_it() -> None:
    picture = {"type": "Document", "url": "/media/1/a.jpg", "name": "Two ships"}
    document = one(created(content=None, attachment=[picture]))
    assert (document.text, document.flags) == ("Two ships", Flag.MEDIA)
    assert document.meta["attachments"] == ["a.jpg"]
    assert one(created(content="", attachment=[picture | {"name": None}])).text == "a.jpg"


@pytest.mark.parametrize(
    ("to", "cc", "visibility"),
    [
        ([PUBLIC], [], "public"),
        ([f"{ANA}/followers"], [PUBLIC], "unlisted"),
        ([f"{ANA}/followers"], [], "followers"),
        (["https://b.example/users/bob"], [], "direct"),
    ],
)
def test_the_visibility_of_a_post_is_kept(to: object, cc: object, visibility: str) -> None:
    assert one(created(to=to, cc=cc)).meta["visibility"] == visibility


def test_messages_to_named_people_are_personal(tmp_path: Path) -> None:
    path = tmp_path / "outbox.json"
    sent = created(id="2", to=["https://b.example/users/bob"], cc=[], content="at night")
    path.write_bytes(outbox(created(), sent, created(id="3", to=[f"{ANA}/followers"], cc=[]), 5))
    for where in (path, tmp_path):
        posts, messages = list_exports(SourceRequest(str(where))).exports
        with open_source(posts) as stream:
            assert stream.opened.kinds[0] is Kind.SOCIAL
            assert len(list(stream)) == 3
        with open_source(messages) as stream:
            assert stream.opened.kinds == (Kind.PERSONAL,)
            (record,) = stream
            assert not isinstance(record, Reject)
            assert normalise(record, Defaults()).text == "at night"
    told = SourceRequest(str(path), defaults=Defaults(kind=Kind.SOCIAL))
    assert len(list_exports(told).exports) == 1
    assert len(documents(path)[0]) == 3


def test_one_bad_activity_does_not_hide_the_others() -> None:
    like = {"id": "x", "type": "Like", "object": "y"}
    stored, rejects = documents(outbox(created(), like, created(content="", id="2"), 5, BOOST))
    assert [document.external_id for document in stored] == [NOTE["id"], BOOST["id"]]
    assert sorted(reject.reason for reject in rejects) == [
        "record 2: an activity of the type Like is no post",
        "record 3: the text is empty",
        "record 4: not an object",
    ]


def test_a_context_that_is_a_list_is_not_taken_for_the_posts() -> None:
    assert len(documents(outbox(created(), BOOST, context=["https://a.example", {}]))[0]) == 2


def test_a_boost_of_one_s_own_post_does_not_replace_it() -> None:
    post = created(content="<p>The dam will break</p>")
    boost = {**BOOST, "id": f"{ANA}/statuses/99/activity", "object": post["object"]}
    stored, _ = documents(outbox(post, boost))
    assert [Flag.REPOST in d.flags for d in stored] == [False, True]
    assert len({d.external_id for d in stored}) == 2
    assert stored[0].text == "The dam will break"


def test_what_stands_beside_the_words_is_found_and_quotations_are_marked() -> None:
    attachment = {"type": "Document", "url": "/a.jpg", "name": "A heron on the quay"}
    options = [{"type": "Note", "name": "At the lighthouse"}]
    note = created(
        attachment=[attachment],
        oneOf=options,
        content="<p>Morning</p><blockquote><p>He said so</p></blockquote>",
    )
    (document,) = documents(outbox(note))[0]
    assert document.text == "Morning\n\n> He said so"
    assert Flag.QUOTE in document.flags
    assert "heron" in document.search_text
    assert "lighthouse" in document.search_text
    assert document.meta["beside"] == ["image: A heron on the quay", "poll: At the lighthouse"]
    (own,) = documents(outbox(note), defaults=Defaults(only_mine=True))[0]
    assert own.text == "Morning"

"""Objects of Twitter's API, v1.1 and v2."""

import orjson
import pytest

from engine.values import Flag
from tests.engine.ingest.reading import TWEET, accepted, documents, one, records

LINK = {"url": "https://t.co/abc", "expanded_url": "https://x.org/a?b=1&copy=2"}
V2 = {
    "id": "20",
    "text": "Hi &amp; bye https://t.co/abc",
    "created_at": "2019-05-23T02:54:59.000Z",
    "author_id": "7",
    "lang": "en",
    "public_metrics": {"like_count": 3, "retweet_count": 4},
    "entities": {"urls": [LINK]},
}
ANSWERED = {"id": "10", "text": "The whole text", "author_id": "8"}


def entities(*links: dict[str, str]) -> dict[str, object]:
    return {"urls": list(links), "hashtags": [], "user_mentions": []}


def test_the_exact_id_is_taken_where_the_number_was_rounded() -> None:
    assert one(TWEET | {"id": 1131393056299786200}).external_id == TWEET["id_str"]


def test_short_links_are_shown_as_what_they_stand_for() -> None:
    document = one(
        TWEET | {"full_text": "a https://t.co/abc https://t.co/abcd", "entities": entities(LINK)}
    )
    assert document.text == "a https://x.org/a?b=1&copy=2 https://t.co/abcd"
    assert document.search_text == "a"


def test_the_descriptions_of_all_pictures_are_found() -> None:
    media = {"media": [{"ext_alt_text": "A dam"}, {"ext_alt_text": "A quay"}]}
    document = one(TWEET | {"extended_entities": media}, form="api")
    assert document.meta["beside"] == ["image: A dam", "image: A quay"]
    assert "quay" in document.search_text


def test_an_extended_tweet_replaces_the_cut_one() -> None:
    compatible = {k: v for k, v in TWEET.items() if k != "full_text"}
    cut = compatible | {"text": "This goes on…", "truncated": True}
    assert one(cut, form="api").flags == Flag.TRUNCATED
    extended = {"full_text": "This goes on and on https://t.co/abc", "entities": entities(LINK)}
    whole = one(cut | {"extended_tweet": extended}, form="api")
    assert whole.text == "This goes on and on https://x.org/a?b=1&copy=2"
    assert whole.flags == Flag.NONE


def test_a_repost_shows_the_whole_original_text() -> None:
    text = {"full_text": "The whole text https://t.co/abc", "entities": entities(LINK)}
    original = TWEET | text | {"user": {"screen_name": "first"}}
    repost = {"full_text": "RT @first: The wh…", "user": {"screen_name": "second"}}
    document = one(TWEET | repost | {"retweeted_status": original})
    assert document.text == "RT @first: The whole text https://x.org/a?b=1&copy=2"
    assert (document.author, document.flags) == ("second", Flag.REPOST)


def linked(path: str) -> dict[str, object]:
    return {"entities": entities({"url": "u", "expanded_url": f"https://x.com/a/status/{path}"})}


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({"is_quote_status": True}, Flag.QUOTE),
        (linked("12"), Flag.QUOTE),
        (linked("12/photo/1"), Flag.NONE),
        ({"in_reply_to_status_id_str": "5"}, Flag.REPLY),
        ({"in_reply_to_status_id": 5}, Flag.REPLY),
        ({"in_reply_to_screen_name": "a"}, Flag.REPLY),
        ({"extended_entities": {"media": [{}]}}, Flag.MEDIA),
        ({"entities": {"media": []}}, Flag.NONE),
    ],
)
def test_flags_are_read_from_the_object(fields: dict[str, object], flags: Flag) -> None:
    assert one(TWEET | fields).flags == flags


def test_replies_engagement_and_device_are_read() -> None:
    device = {"source": '<a href="http://x.org">Twitter for iPhone</a>'}
    counts = {"in_reply_to_status_id_str": "5", "favorite_count": "3", "retweet_count": 4}
    document = one(TWEET | device | counts)
    assert (document.reply_to, document.engagement) == ("5", 7)
    assert document.meta == {"device": "Twitter for iPhone"}


def test_a_page_of_v2_gives_each_tweet_with_its_author() -> None:
    reply = V2 | {"id": "21", "referenced_tweets": [{"type": "replied_to", "id": "10"}]}
    original = [{"type": "retweeted", "id": "10"}]
    repost = V2 | {"id": "22", "text": "RT @her: The w…", "referenced_tweets": original}
    with_media = V2 | {"attachments": {"media_keys": ["3_1"], "poll_ids": ["5"]}}
    page: dict[str, object] = {
        "data": [with_media, reply, repost],
        "includes": {
            "media": [{"media_key": "3_1", "type": "photo", "alt_text": "A dam"}],
            "polls": [{"id": "5", "options": [{"position": 1, "label": "yes"}]}],
            "users": [{"id": "7", "username": "him"}, {"id": "8", "username": "her"}],
            "tweets": [ANSWERED],
        },
    }
    stored, rejects = documents(orjson.dumps(page) + b"\n" + orjson.dumps(page | {"data": [{}]}))
    assert [document.external_id for document in stored] == ["20", "21", "22"]
    assert {document.author for document in stored} == {"him"}
    plain, answer, repeated = stored
    assert plain.text == "Hi & bye https://x.org/a?b=1&copy=2"
    assert (plain.engagement, plain.flags) == (7, Flag.MEDIA)
    assert plain.meta["beside"] == ["image: A dam", "poll: yes"]
    assert (answer.reply_to, answer.flags) == ("10", Flag.REPLY)
    assert (repeated.text, repeated.flags) == ("RT @her: The whole text", Flag.REPOST)
    assert [(reject.line, reject.reason) for reject in rejects] == [(2, "no id")]


def test_a_flattened_tweet_of_v2_is_read_too() -> None:
    attachments = {
        "media_keys": ["3_1"],
        "media": [{"media_key": "3_1", "alt_text": "A dam"}],
        "poll": {"options": [{"label": "yes"}, {"label": "no"}]},
    }
    said = {"author": {"username": "him"}, "note_tweet": {"text": "Much longer"}}
    quoted = [{"type": "quoted", "id": "10"}]
    document = one(V2 | said | {"attachments": attachments, "referenced_tweets": quoted})
    assert (document.text, document.author) == ("Much longer", "him")
    assert document.flags == Flag.QUOTE | Flag.MEDIA
    assert document.meta["beside"] == ["image: A dam", "poll: yes\nno"]


def test_a_page_may_be_longer_than_a_line_of_the_plain_format() -> None:
    many = [V2 | {"id": str(number)} for number in range(1, 6_000)]
    good, rejects = records(orjson.dumps({"data": many}))
    assert (len(good), rejects) == (5_999, [])


USERS = {"users": [{"id": "7", "username": "him"}]}
OLD = TWEET | {"user": {"screen_name": "him"}}


@pytest.mark.parametrize("option", [None, orjson.OPT_INDENT_2])
@pytest.mark.parametrize(
    "shape",
    [
        {"data": [V2], "includes": USERS},
        {"data": V2, "includes": USERS, "matching_rules": []},
        {"statuses": [OLD], "search_metadata": {}},
        OLD,
    ],
    ids=["page", "single", "search", "old"],
)
def test_pages_and_single_tweets_are_read_however_they_are_laid_out(
    shape: object, option: int | None
) -> None:
    (document,) = accepted(orjson.dumps(shape, option=option))
    assert document.author == "him"
    assert document.text in {"Open & shut", "Hi & bye https://x.org/a?b=1&copy=2"}


def test_objects_over_many_lines_may_follow_each_other() -> None:
    tweets = [orjson.dumps(V2 | {"id": number}, option=orjson.OPT_INDENT_2) for number in "12"]
    assert len(documents(b"\n".join(tweets))[0]) == 2

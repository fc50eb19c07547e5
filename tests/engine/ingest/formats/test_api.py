"""Objects of Twitter's API, v1.1 and v2."""

import orjson
import pytest

from engine.values import Flag
from tests.engine.ingest.reading import TWEET, documents, one, records

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
    whole = one(
        cut
        | {
            "extended_tweet": {
                "full_text": "This goes on and on https://t.co/abc",
                "entities": entities(LINK),
            }
        },
        form="api",
    )
    assert whole.text == "This goes on and on https://x.org/a?b=1&copy=2"
    assert whole.flags == Flag.NONE


def test_a_repost_shows_the_whole_original_text() -> None:
    original = TWEET | {
        "full_text": "The whole text https://t.co/abc",
        "entities": entities(LINK),
        "user": {"screen_name": "first"},
    }
    document = one(
        TWEET
        | {
            "full_text": "RT @first: The wh…",
            "user": {"screen_name": "second"},
            "retweeted_status": original,
        }
    )
    assert document.text == "RT @first: The whole text https://x.org/a?b=1&copy=2"
    assert (document.author, document.flags) == ("second", Flag.REPOST)


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({"is_quote_status": True}, Flag.QUOTE),
        (
            {"entities": entities({"url": "u", "expanded_url": "https://x.com/a/status/12"})},
            Flag.QUOTE,
        ),
        (
            {
                "entities": entities(
                    {"url": "u", "expanded_url": "https://x.com/a/status/12/photo/1"}
                )
            },
            Flag.NONE,
        ),
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
    document = one(
        TWEET
        | {
            "in_reply_to_status_id_str": "5",
            "favorite_count": "3",
            "retweet_count": 4,
            "source": '<a href="http://x.org">Twitter for iPhone</a>',
        }
    )
    assert (document.reply_to, document.engagement) == ("5", 7)
    assert document.meta == {"device": "Twitter for iPhone"}


def test_json_arrays_and_lines_give_the_same_tweets() -> None:
    second = TWEET | {"id_str": "2"}
    array, _ = documents(orjson.dumps([TWEET, second], option=orjson.OPT_INDENT_2))
    lines, _ = documents(orjson.dumps(TWEET) + b"\n" + orjson.dumps(second))
    assert (
        [d.external_id for d in array] == [d.external_id for d in lines] == [TWEET["id_str"], "2"]
    )


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
    document = one(
        V2
        | {
            "author": {"username": "him"},
            "note_tweet": {"text": "Much longer"},
            "attachments": {
                "media_keys": ["3_1"],
                "media": [{"media_key": "3_1", "alt_text": "A dam"}],
                "poll": {"options": [{"label": "yes"}, {"label": "no"}]},
            },
            "referenced_tweets": [{"type": "quoted", "id": "10"}],
        }
    )
    assert (document.text, document.author) == ("Much longer", "him")
    assert document.flags == Flag.QUOTE | Flag.MEDIA
    assert document.meta["beside"] == ["image: A dam", "poll: yes\nno"]


def test_a_page_may_be_longer_than_a_line_of_the_plain_format() -> None:
    many = [V2 | {"id": str(number)} for number in range(1, 6_000)]
    good, rejects = records(orjson.dumps({"data": many}))
    assert (len(good), rejects) == (5_999, [])


@pytest.mark.parametrize("option", [None, orjson.OPT_INDENT_2])
def test_pages_and_single_tweets_are_read_however_they_are_laid_out(option: int | None) -> None:
    tweet = {
        "id": "12",
        "text": "the dam",
        "created_at": "2023-11-14T22:13:20.000Z",
        "author_id": "42",
        "public_metrics": {"like_count": 5},
    }
    users = {"users": [{"id": "42", "username": "ana_sails"}]}
    old = {
        "id_str": "12",
        "full_text": "the dam",
        "created_at": "Tue Nov 14 22:13:20 +0000 2023",
        "user": {"screen_name": "ana_sails"},
        "entities": {"urls": []},
    }
    for shape in (
        {"data": [tweet], "includes": users},
        {"data": tweet, "includes": users, "matching_rules": []},
        {"statuses": [old], "search_metadata": {}},
        old,
    ):
        (document,), rejects = documents(orjson.dumps(shape, option=option))
        assert rejects == []
        assert (document.text, document.author) == ("the dam", "ana_sails")


def test_objects_over_many_lines_may_follow_each_other() -> None:
    tweets = [
        {"id": number, "text": "x", "created_at": "2023-11-14T22:13:20Z", "author_id": "4"}
        for number in ("12", "13")
    ]
    content = b"\n".join(orjson.dumps(tweet, option=orjson.OPT_INDENT_2) for tweet in tweets)
    assert len(documents(content)[0]) == 2

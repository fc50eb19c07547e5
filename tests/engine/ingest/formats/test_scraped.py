"""Tweets of snscrape, twscrape and the readers of Nitter's pages."""

import orjson
import pytest

from engine.values import Flag
from tests.engine.ingest.reading import accepted, one, reason, records

USER = {"_type": "snscrape.modules.twitter.User", "username": "ana", "id": 7, "displayname": "Ana"}
SNSCRAPE = {
    "_type": "snscrape.modules.twitter.Tweet",
    "url": "https://twitter.com/ana/status/1131393056299786240",
    "date": "2019-05-23T02:54:59+00:00",
    "rawContent": "A ship &amp; a canal https://t.co/abc",
    "id": 1131393056299786240,
    "user": USER,
    "retweetCount": 2,
    "likeCount": 3,
    "lang": "en",
    "source": '<a href="http://twitter.com">Twitter Web Client</a>',
    "links": [
        {"text": "example.org", "url": "https://example.org/a", "tcourl": "https://t.co/abc"}
    ],
}
TWSCRAPE = SNSCRAPE | {
    "id_str": "1131393056299786240",
    "date": "2019-05-23 02:54:59+00:00",
    "bookmarkedCount": 0,
    "media": {"photos": [], "videos": [], "animated": []},
    "inReplyToTweetIdStr": None,
}
NITTER = {
    "link": "https://twitter.com/ana/status/1131393056299786240#m",
    "text": "A ship & a canal",
    "user": {"name": "Ana", "username": "@ana", "profile_id": "7", "avatar": ""},
    "date": "May 23, 2019 · 2:54 AM UTC",
    "is-retweet": False,
    "replying-to": [],
    "quoted-post": {},
    "stats": {"comments": 1, "retweets": 2, "quotes": 0, "likes": 3},
    "pictures": ["https://pbs.twimg.com/media/A1.jpg"],
}


@pytest.mark.parametrize("tweet", [SNSCRAPE, TWSCRAPE])
def test_a_tweet_of_snscrape_or_twscrape_is_read(tweet: dict[str, object]) -> None:
    document = one(tweet)
    assert document.external_id == "1131393056299786240"
    assert document.text == "A ship & a canal https://example.org/a"
    assert document.created_at
    assert document.created_at.isoformat() == "2019-05-23T02:54:59+00:00"
    assert (document.author, document.lang, document.platform) == ("ana", "en", "x")
    assert (document.engagement, document.url) == (5, tweet["url"])
    assert (document.flags, document.meta) == (Flag.NONE, {"device": "Twitter Web Client"})


def test_field_names_of_older_versions_are_read() -> None:
    old = {name: value for name, value in SNSCRAPE.items() if name not in {"rawContent", "links"}}
    links = {"tcooutlinks": ["https://t.co/abc"], "outlinks": ["https://example.org/a"]}
    assert (
        one(old | links | {"content": "See https://t.co/abc"}).text == "See https://example.org/a"
    )


def test_reposts_quotes_replies_and_media_are_flagged() -> None:
    original = SNSCRAPE | {"rawContent": "Old words", "user": USER | {"username": "bob"}}
    repost = one(SNSCRAPE | {"rawContent": "RT @bob: Old…", "retweetedTweet": original})
    assert (repost.text, repost.flags) == ("RT @bob: Old words", Flag.REPOST)
    assert one(SNSCRAPE | {"quotedTweet": original}).flags == Flag.QUOTE
    answer = one(SNSCRAPE | {"inReplyToTweetId": 5})
    assert (answer.flags, answer.reply_to) == (Flag.REPLY, "5")
    assert one(SNSCRAPE | {"media": [{"fullUrl": "https://x.org/a.jpg"}]}).flags == Flag.MEDIA
    assert one(TWSCRAPE | {"media": {"photos": [{"url": "a"}], "videos": []}}).flags == Flag.MEDIA


@pytest.mark.parametrize(
    "content",
    [
        orjson.dumps(NITTER),
        orjson.dumps([NITTER]),
        orjson.dumps({"tweets": [NITTER], "threads": []}),
        orjson.dumps({"tweets": [], "threads": [[NITTER]]}, option=orjson.OPT_INDENT_2),
    ],
)
def test_a_tweet_of_nitter_is_read(content: bytes) -> None:
    (document,) = accepted(content)
    assert (document.external_id, document.text) == ("1131393056299786240", "A ship & a canal")
    assert document.created_at
    assert document.created_at.isoformat() == "2019-05-23T02:54:00+00:00"
    assert (document.author, document.engagement, document.flags) == ("ana", 5, Flag.MEDIA)
    assert document.url == "https://twitter.com/ana/status/1131393056299786240"
    assert document.meta == {"attachments": ["A1.jpg"]}


def test_a_nitter_tweet_without_a_link_is_rejected() -> None:
    assert reason(NITTER | {"link": ""}) == "no id"


def test_scraped_formats_are_detected() -> None:
    for content, form in ((SNSCRAPE, "snscrape"), (TWSCRAPE, "snscrape"), (NITTER, "nitter")):
        assert {record.format for record in records(orjson.dumps(content))[0]} == {form}

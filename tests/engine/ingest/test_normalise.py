"""What all formats have in common on their way to a document."""

from contextlib import suppress
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RecordError, UsageError
from engine.ingest.normalise import normalise, read_language_code
from engine.ingest.reader import is_mine, role_of
from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import TWEET, javascript, one, reason, records

RECORD = {"id": "1", "text": "x", "created_at": "2009-05-04T18:54:25+00:00"}
LONG = "word " * 26  # 130 characters


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Just a text", Flag.NONE),
        ("RT @somebody: text", Flag.REPOST),
        ("@somebody hello", Flag.REPLY),
        (".@somebody hello", Flag.NONE),
        ('"@fan: run!" I may', Flag.QUOTE),
        ('"To be" @hamlet', Flag.NONE),
        ("see pic.twitter.com/abc", Flag.MEDIA),
        ("RT @somebody: short but cu…", Flag.REPOST | Flag.TRUNCATED),
        ("RT @somebody: he trails off...", Flag.REPOST),
        ("RT @somebody: " + LONG + "h ...", Flag.REPOST | Flag.TRUNCATED),
        ("I wait and see... https://t.co/abc", Flag.NONE),
        (LONG + "cu…", Flag.TRUNCATED),
        (LONG + "he trails off...", Flag.NONE),
        (LONG + "y...", Flag.NONE),
        ("word " * 22 + "y... https://t.co/abc", Flag.TRUNCATED),
        ("word " * 22 + "y… http://t.co/abc", Flag.TRUNCATED),
        ("word " * 22 + "y.... https://t.co/abc", Flag.NONE),
        ("word " * 38 + "y… http://t.co/abc", Flag.NONE),
    ],
)
def test_flags_are_derived_from_the_text(text: str, flags: Flag) -> None:
    assert one(RECORD | {"text": text}).flags == flags


def test_a_picture_behind_an_ellipsis_is_not_the_rest_of_a_text() -> None:
    text = "word " * 22 + "and more... https://t.co/abc"
    media = {"url": "https://t.co/abc", "expanded_url": "https://twitter.com/a/status/1/photo/1"}
    link = {"url": "https://t.co/abc", "expanded_url": "https://x.org/whole"}
    pictured = one(TWEET | {"full_text": text, "entities": {"media": [media]}})
    linked = one(TWEET | {"full_text": text, "entities": {"urls": [link]}})
    assert Flag.TRUNCATED not in pictured.flags
    assert Flag.TRUNCATED in linked.flags


@pytest.mark.parametrize(
    ("text", "tags", "mentions"),
    [
        ("#MAGA and #maga, #KAG2020!", ("maga", "kag2020"), ()),
        ("#1 in 9/11 &#39;x&#39; http://x.org/#part", (), ()),
        ("#Día #_x", ("día", "_x"), ()),
        ("@CNN, .@FoxNews: joe@x.org http://x.org/@you", (), ("cnn", "foxnews")),
    ],
)
def test_tags_and_mentions_are_found(
    text: str, tags: tuple[str, ...], mentions: tuple[str, ...]
) -> None:
    document = one(RECORD | {"text": text})
    assert (document.tags, document.mentions) == (tags, mentions)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", "en"),
        ("EN", "en"),
        ("pt-BR", "pt"),
        ("zh_TW", "zh"),
        ("in", "id"),
        ("iw", "he"),
        *((code, None) for code in ("und", "qme", "zxx", "art", "qst", "e", "", "1x", "english")),
        (None, None),
    ],
)
def test_a_language_code_becomes_iso_639_1(code: str | None, expected: str | None) -> None:
    assert read_language_code(code) == expected


@pytest.mark.parametrize(
    "url",
    [
        *(
            "javascript:alert(1)",
            "ftp://x.org",
            "x.org",
            "https://x.org/a b",
            "",
            5,
            "http://" * 400,
        ),
        *("http://[bad", "https://a℀b.org/x", "https://", "http://:80/"),
    ],
)
def test_an_invalid_url_is_left_out(url: object) -> None:
    assert one(RECORD | {"url": url}).url is None


@pytest.mark.parametrize(
    ("likes", "reposts", "engagement"),
    [(1, 2, 3), ("4", None, 4), (-1, 1.5, 0), (2**40, 1, 2**31 - 1), ("many", [], 0), ("²", "", 0)],
)
def test_engagement_is_a_number_that_the_column_holds(
    likes: object, reposts: object, engagement: int
) -> None:
    assert one(RECORD | {"favorites": likes, "retweets": reposts}).engagement == engagement


@given(st.text(min_size=1, max_size=80))
def test_text_that_cannot_be_stored_is_cleaned(text: str) -> None:
    odd = dict.fromkeys(("text", "author", "device", "title", "role", "url", "in_reply_to"), text)
    (record,) = records(orjson.dumps(RECORD))[0]
    with suppress(RecordError):
        document = normalise(replace(record, payload=RECORD | odd), Defaults())
        fields = [document.text, document.search_text, document.author, document.title]
        fields += [document.role, document.url, document.reply_to, *document.tags]
        for stored in [field or "" for field in fields]:
            assert "\x00" not in stored
            stored.encode()


def test_a_thread_that_no_index_holds_is_refused() -> None:
    plain = RECORD | {"platform": "irc"}
    assert one(plain | {"thread": "é" * 500}).thread == "é" * 500
    assert reason(plain | {"thread": "é" * 501}) == (
        "the name of the thread is longer than 500 characters"
    )


def test_only_tweets_derive_flags_from_their_text() -> None:
    plain = RECORD | {"text": '"@fan: ' + "x" * 135 + "…"}
    tweet, message = one(plain), one(plain | {"platform": "irc"})
    assert tweet.flags == Flag.QUOTE | Flag.TRUNCATED
    assert message.flags == Flag.NONE
    assert (tweet.platform, message.platform) == (None, "irc")


MINE = Defaults(only_mine=True, author="Ana")


@pytest.mark.parametrize(
    ("owner", "names", "mine"),
    [
        ("Ana", ["bob", "ANA"], True),
        ("@ana ", ["Ana"], True),
        ("ana", ["Bob", None, 5], False),
        ("ana", [], False),
        (None, ["Ana"], None),
        ("", [""], None),
    ],
)
def test_the_name_of_the_owner_is_matched_in_any_spelling(
    owner: object, names: list[object], mine: bool | None
) -> None:
    assert is_mine(owner, *names) is mine


def test_a_role_is_known_where_the_owner_is() -> None:
    assert [role_of(mine) for mine in (True, False, None)] == ["me", "others", None]


def test_only_mine_keeps_plain_records_of_the_named_author() -> None:
    lines = [RECORD, RECORD | {"id": "2", "author": "Ana"}, RECORD | {"id": "3", "author": "Bob"},
             RECORD | {"id": "4", "is_retweet": True}]  # fmt: skip
    good, rejects = records(b"\n".join(map(orjson.dumps, [*lines, 7])), defaults=MINE)
    assert [record.external_id for record in good] == ["1", "2"]
    assert [reject.reason for reject in rejects] == ["not an object"]
    good, _ = records(orjson.dumps(RECORD | {"text": ""}), defaults=MINE)
    assert len(good) == 1  # the normaliser says why


def test_only_mine_without_an_author_is_rejected_for_plain_records() -> None:
    line = orjson.dumps(RECORD | {"author": "Bob"})
    with pytest.raises(UsageError, match=r"standard input does not say whose it is.*--author"):
        records(line, defaults=Defaults(only_mine=True))


def test_reposts_do_not_count_as_own_text() -> None:
    original = {"user": {"screen_name": "bob"}, "full_text": "Rain"}
    repost = TWEET | {"id_str": "2", "retweeted_status": original}
    content = javascript("window.YTD.tweets.part0", [{"tweet": TWEET}, {"tweet": repost}])
    good, _ = records(content, defaults=MINE)
    assert [record.external_id for record in good] == [TWEET["id_str"]]

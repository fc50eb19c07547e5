"""The plain format."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import documents, one, reason, records

RECORD = {"id": "1", "text": "Hello @BetteMidler", "created_at": "2009-05-04T18:54:25+00:00"}
LINE = orjson.dumps(RECORD)


def test_a_record_with_everything_becomes_a_document() -> None:
    document = one(
        RECORD
        | {
            "text": "A &amp; b #MAGA @CNN",
            "lang": "en",
            "author": "@somebody",
            "title": "T",
            "role": "user",
            "url": "https://x.org/1",
            "in_reply_to": 7,
            "favorites": 939,
            "retweets": "519",
            "device": "Web",
            "is_retweet": False,
            "is_quote": True,
            "is_deleted": True,
        }
    )
    assert (document.external_id, document.text) == ("1", "A & b #MAGA @CNN")
    assert document.search_text == "A b MAGA CNN"
    assert document.created_at == datetime(2009, 5, 4, 18, 54, 25, tzinfo=UTC)
    assert (document.author, document.title, document.role) == ("somebody", "T", "user")
    assert (document.lang, document.url, document.reply_to) == ("en", "https://x.org/1", "7")
    assert (document.tags, document.mentions) == (("maga",), ("cnn",))
    assert document.engagement == 1458
    assert document.flags == Flag.QUOTE | Flag.DELETED | Flag.REPLY
    assert document.meta == {"device": "Web"}


def test_tags_attachments_and_participants_are_kept() -> None:
    lists = {"tags": ["#Work", "late"], "attachments": ["a.pdf"], "participants": ["Ana", "Ben"]}
    document = one(RECORD | lists)
    assert document.tags == ("work", "late")
    assert document.meta == {"attachments": ["a.pdf"], "participants": ["Ana", "Ben"]}
    assert one(RECORD | {"text": "A #boat", "tags": []}).tags == ("boat",)


def test_a_record_with_nothing_else_takes_the_defaults() -> None:
    document = one(RECORD, defaults=Defaults(author="@me"))
    assert (document.author, document.lang, document.url) == ("me", None, None)
    assert (document.flags, document.engagement, document.meta) == (Flag.NONE, 0, {})
    assert one(RECORD | {"author": "her"}, defaults=Defaults(author="me")).author == "her"


@pytest.mark.parametrize(
    ("post_id", "created_at", "device", "platform"),
    [
        (664095025394614272, "2015-11-10T14:59:27Z", "Twitter for iPhone", "x"),
        ("664095025394614272", "2015-11-10T02:59:27Z", "TweetDeck", "x"),  # AM for PM
        # An invented account may have ids with a moment in them, likes and an author.
        ("664095025394614272", "2015-11-10T14:59:27Z", None, None),
        ("664095025394614272", "2016-11-10T14:59:27Z", "Twitter for iPhone", None),
        ("1698308935", "2009-05-04T18:54:25Z", "Twitter Web Client", "x"),
        ("1698308935", "2009-05-04T18:54:25Z", "Typewriter", None),
        ("12", "2014-05-04T18:54:25Z", "Twitter for iPhone", None),
        ("diary-12", "2009-05-04T18:54:25Z", "Twitter for iPhone", None),
        ("9" * 30, "2009-05-04T18:54:25Z", None, None),
        ("٣٤", "2009-05-04T18:54:25Z", "Twitter for iPhone", None),
    ],
)
def test_record_without_platform_is_from_x_only_if_id_and_date_agree(
    post_id: str | int, created_at: str, device: str | None, platform: str | None
) -> None:
    record = RECORD | {"id": post_id, "created_at": created_at, "device": device}
    assert one(record).platform == platform
    assert one(record | {"platform": "mastodon"}).platform == "mastodon"
    assert one(record | {"source": "Mastodon"}).platform == (platform or "Mastodon")
    by_program = {"source": '<a href="https://x.example">Program</a>'}
    assert one(record | by_program).platform == platform


def test_all_of_an_archive_is_of_x_if_its_columns_are() -> None:
    old = {"id": "12345678901", "text": "a", "created_at": "2010-05-04T18:54:25Z"}
    new = {"id": "664095025394614272", "text": "b", "created_at": "2015-11-10T14:59:27Z"}
    for sign in ({"is_retweet": False}, {"device": "Twitter Web App"}, {"screen_name": "ana"}):
        lines = b"\n".join(map(orjson.dumps, (old, new | sign)))
        assert {document.platform for document in documents(lines)[0]} == {"x"}
    lines = b"\n".join(map(orjson.dumps, (old, new | {"likes": 4, "author": "ana"})))
    assert {document.platform for document in documents(lines)[0]} == {None}


def test_a_screen_name_in_place_of_an_answered_id_only_marks_a_reply() -> None:
    document = one(RECORD | {"in_reply_to": "eaduhalde"})
    assert (document.reply_to, document.flags) == (None, Flag.REPLY)
    assert one(RECORD | {"id": "a-1", "in_reply_to": "a-0"}).reply_to == "a-0"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"created_at": "then"}, "cannot be read or does not exist; write it as"),
        ({"created_at": None}, "no date"),
        ({"text": None}, "no text"),
        ({"text": 5}, "the text is not a text"),
        ({"text": " \n"}, "the text is empty"),
        ({"text": "x" * 100_001}, "longer than 100,000 characters"),
        ({"id": None}, "no id"),
        ({"id": 1.5}, "not a whole number"),
        ({"is_retweet": "perhaps"}, "is_retweet is 'perhaps', not true or false"),
    ],
)
def test_a_record_is_rejected_with_the_reason(change: dict[str, object], why: str) -> None:
    assert why in reason(RECORD | change)


def test_bad_lines_are_rejected_by_number_and_the_rest_goes_in() -> None:
    lines = [
        LINE,
        b"",
        b"nonsense",
        b'{"id": "2", "text": "\xff\xfe"}',
        b"[1, 2]",
        b'{"text": "no id", "created_at": "2009-05-04T18:54:25Z"}',
        b'{"id": "' + b"3" * 5_000_000 + b'"}',
        b'{"id": 12345678901234567890123, "text": "a"}',
        LINE.replace(b'"1"', b'"9"'),
        LINE[:-20],
    ]
    stored, rejects = documents(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    assert [document.external_id for document in stored] == ["1", "9"]
    assert [(reject.line, reject.file) for reject in rejects] == [
        (number, "standard input") for number in (3, 4, 5, 6, 7, 8, 10)
    ]
    reasons = [reject.reason.partition(":")[0] for reject in rejects]
    assert reasons[:5] == [
        "not valid JSON",
        "invalid UTF-8",
        "not an object",
        "no id",
        "longer than 1,000,000 bytes",
    ]
    assert "last digits are lost" in reasons[5]
    assert reasons[6] == "not valid JSON"


def test_the_same_records_may_stand_in_an_array() -> None:
    stored, rejects = documents(b"[" + LINE + b",\n" + b'{"id": "2"},' + LINE + b"]")
    assert len(stored) == 2
    assert [(r.line, r.reason) for r in rejects] == [(2, "record 2: no text")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda d: gzip.compress(d) * 2])
@pytest.mark.parametrize("by_path", [True, False])
def test_a_file_and_stdin_may_be_packed(pack: object, by_path: bool, tmp_path: Path) -> None:
    data = pack(LINE + b"\n")  # type: ignore[operator]  # one of the three above
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    good, rejects = records(path if by_path else data)
    assert {record.external_id for record in good} == {"1"}
    assert rejects == []
    assert {record.file for record in good} == {str(path) if by_path else "standard input"}


def test_an_equal_line_has_an_equal_digest_wherever_it_stands() -> None:
    first, _ = records(LINE + b"\n" + LINE)
    again, _ = records(b"\n" + LINE + b"\r\n")
    other, _ = records(LINE, defaults=Defaults(author="me"))
    assert {record.digest for record in [*first, *again]} == {first[0].digest}
    assert other[0].digest != first[0].digest


def test_a_table_holds_the_same_fields() -> None:
    table = (
        b"\xef\xbb\xbfid,created_at,text,author,lang,favorites,is_retweet,in_reply_to\n"
        b'19827935221,2010-06-08T10:00:00Z,"El pan, otra vez",ana,es,3,false,\n'
        b"2,2010-06-08 10:00,No zone,ana,,,,\n"
        b"3,2010-06-09T10:00:00+02:00,Bread again,,,,TRUE,7\n"
    )
    (first, second), rejects = documents(table)
    assert (first.external_id, first.text) == ("19827935221", "El pan, otra vez")
    assert (first.author, first.lang, first.engagement) == ("ana", "es", 3)
    assert first.flags == Flag.NONE
    assert (second.author, second.lang) == (None, None)
    assert second.flags == Flag.REPOST | Flag.REPLY
    assert [(reject.line, "has no zone" in reject.reason) for reject in rejects] == [(3, True)]

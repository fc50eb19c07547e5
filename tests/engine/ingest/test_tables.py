"""Tables as people have them: what is guessed, what is stored, and what is refused."""

import codecs
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from engine.errors import UnknownFormat, UsageError
from engine.ingest.csv_rows import read_count
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, SourceRequest, TableLayout
from engine.ingest.streams import find_encoding
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, records

EXCEL = (
    "ID;Fecha;Texto;Me gusta;Retuits;Enlace;Sala\r\n"
    '7;23/05/2019 14:05;"El barco «bloqueó» el canal; otra vez";1.234;12,0;https://x.org/7;3\r\n'
    "8;02/06/2019;Ñandúes; 3 ;;;\r\n"
)
SHEETS = (
    "Timestamp,Tweet,Likes,Username\n"
    '5/23/2019 14:05:06,"The ship, again",12,@ana\n6/2/2019 9:00:01,Two canals,3,@ana\n'
)
NOTION = (
    "Name,Created time,Tags,URL\n"
    '"Bread will cost more","May 23, 2019 2:54 PM","prices, bread",https://example.org/1\n'
)
PANDAS = (
    ",tweet_id,full_text,date,user,favorite_count\n"
    '0,1131393056299786240,"A, b\nc",2019-05-23 02:54:59+00:00,ana,3.0\n'
)
HAND = "2015-03-02, Bread will be dear, very dear\n2015-03-03, A canal is narrow\n"


def layout_of(path: Path, defaults: Defaults | None = None) -> TableLayout:
    with open_source(SourceRequest(str(path), defaults=defaults or Defaults())) as stream:
        assert stream.opened.table
        return stream.opened.table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_spanish_excel_table_is_read(path: Path, encoding: str, delimiter: str) -> None:
    text = EXCEL.replace("canal;", "canal:").replace(";", delimiter)
    path.write_bytes(text.encode(encoding))
    layout = layout_of(path)
    assert layout.delimiter == delimiter
    assert dict(layout.columns) == {
        **{"id": "ID", "created_at": "Fecha", "text": "Texto", "url": "Enlace"},
        **{"favorites": "Me gusta", "retweets": "Retuits"},
    }
    assert (layout.is_day_first, layout.timezone, layout.unused) == (True, "UTC", ["Sala"])
    (first, second) = accepted(path, defaults=Defaults(timezone="Europe/Madrid"))
    assert (first.external_id, first.text) == ("7", "El barco «bloqueó» el canal: otra vez")
    assert first.created_at == datetime(2019, 5, 23, 12, 5, tzinfo=UTC)
    assert (first.engagement, first.url) == (1_246, "https://x.org/7")
    assert (second.text, second.engagement) == ("Ñandúes", 3)
    assert second.created_at == datetime(2019, 6, 2, tzinfo=UTC)


def test_a_google_sheet_is_read(path: Path) -> None:
    path.write_text(SHEETS)
    (first, second), _ = documents(path)
    assert (first.text, first.author, first.engagement) == ("The ship, again", "ana", 12)
    assert first.created_at == datetime(2019, 5, 23, 14, 5, 6, tzinfo=UTC)
    assert second.created_at == datetime(2019, 6, 2, 9, 0, 1, tzinfo=UTC)


def test_a_notion_database_is_read(path: Path) -> None:
    path.write_bytes(codecs.BOM_UTF8 + NOTION.encode())
    (document,), _ = documents(path)
    assert (document.text, document.tags) == ("Bread will cost more", ("prices", "bread"))
    assert document.created_at == datetime(2019, 5, 23, 14, 54, tzinfo=UTC)


def test_a_pandas_table_is_read(path: Path) -> None:
    path.write_text(PANDAS)
    (document,), _ = documents(path)
    assert (document.external_id, document.text) == ("1131393056299786240", "A, b\nc")
    assert (document.author, document.engagement, document.platform) == ("ana", 3, "x")
    assert layout_of(path).timezone is None


def test_a_table_of_pandas_between_tabs_keeps_its_first_column_without_a_name(path: Path) -> None:
    path.write_text("\ttweet_id\tfull_text\tdate\n0\t7\tHello\t2019-05-23\n")
    (document,), rejects = documents(path)
    assert (document.external_id, document.text, rejects) == ("7", "Hello", [])


def test_a_handwritten_table_without_a_header_is_read(path: Path) -> None:
    path.write_text(HAND)
    layout = layout_of(path)
    assert (layout.has_header, dict(layout.columns)) == (False, {"created_at": "1", "text": "2"})
    stored, rejects = documents(path)
    assert [document.text for document in stored] == [
        "Bread will be dear, very dear",
        "A canal is narrow",
    ]
    assert rejects == []


def test_a_made_id_is_the_same_in_the_next_run_and_for_a_repeated_row(path: Path) -> None:
    path.write_text(HAND)
    first = [record.external_id for record in records(path)[0]]
    path.write_text("2014-01-01, Earlier\n" + HAND + HAND)
    again = [record.external_id for record in records(path)[0]]
    assert len(set(first)) == 2
    assert again[1:] == first + first


def test_a_day_and_a_time_may_stand_in_two_columns(path: Path) -> None:
    path.write_text("date;hour;message\n2019-05-23;14:05;Hello\n")
    assert documents(path)[0][0].created_at == datetime(2019, 5, 23, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("sep=;\nfecha;texto\n23/05/2019;Hola\n", ["Hola"]),
        ("fecha,texto\n23/05/2019,Hola a to\0dos\n24/05/2019,Otra\n", ["Hola a todos", "Otra"]),
        ("fecha;texto\n23/05/2019;Hola\n;\n ; \n24/05/2019;Otra\n;\n;\n", ["Hola", "Otra"]),
    ],
    ids=["delimiter named", "a few NULs", "empty rows"],
)
def test_what_programs_leave_between_records_is_passed_over(
    path: Path, content: str, texts: list[str]
) -> None:
    path.write_text(content)
    assert [document.text for document in accepted(path)] == texts


@pytest.mark.parametrize(
    "note", ["Exportado el 3 de mayo\n\n", "Mine,,\n,,\n", "sep=,\nMine,\n", "Mine, of 2019\n\n"]
)
def test_what_stands_above_the_names_of_the_columns_is_no_record(path: Path, note: str) -> None:
    path.write_text(f"{note}id,fecha,texto\n1,23/05/2019,Hola\n1,fecha,texto\n")
    stored, rejects = documents(path)
    assert [(document.external_id, document.text) for document in stored] == [("1", "Hola")]
    assert [each.line for each in rejects] == [len(note.splitlines()) + 3]


def test_columns_can_be_mapped_explicitly(path: Path) -> None:
    path.write_text("when,what,who,id\n2019-05-23,Hello,ana,0\n")
    columns = {"created_at": "when", "text": "what", "author": "WHO", "id": ""}
    (document,), _ = documents(path, defaults=Defaults(columns=columns))
    assert (document.text, document.author) == ("Hello", "ana")
    assert len(document.external_id) == 24
    layout = layout_of(path, Defaults(columns=columns | {"id": "id"}))
    assert not layout.needs_consent


def test_ids_are_made_of_a_table_with_plain_names_where_there_are_none(path: Path) -> None:
    path.write_text("text,created_at\nHello,2019-05-23T02:54:59Z\n")
    stored, rejects = documents(path)
    assert ([len(document.external_id) for document in stored], rejects) == ([24], [])


def test_a_whole_column_decides_the_order_of_day_and_month(path: Path) -> None:
    rows = ["03/04/2019,Hello"] * 5_000
    path.write_text("\n".join(["date,text", *rows, "23/04/2019,Late"]))
    assert layout_of(path).is_day_first
    assert documents(path)[0][0].created_at == datetime(2019, 4, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("date,text\n03/04/2019,a\n", r"no date tells .* Say which: --day-first or --month-first"),
        ("date,text\n23/04/2019,a\n04/23/2019,b\n", r"the day comes first in some .*--day-first"),
        ("a,b\n1,2\n", r"No column .* its texts: a, b\. Name it: --columns text=COLUMN"),
        ("text,b\nhello,2\n", r"No column .* its dates: text, b\. .*--columns created_at=COLUMN"),
        ("one\ntwo\n", r"its first line is one\. Say which hold"),
        ("date,text\r2019-05-23,a\r", r"has the line ends of old Macs\. Save each sheet as CSV"),
    ],
)
def test_an_ambiguous_table_names_the_option_to_set(path: Path, content: str, message: str) -> None:
    path.write_text(content)
    with pytest.raises(UnknownFormat, match=message):
        records(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"words": "text"}, r"no field 'words'.*text"),
        ({"text": "words"}, r"no column 'words'.*date"),
    ],
)
def test_absent_columns_are_named(path: Path, columns: dict[str, str], message: str) -> None:
    path.write_text("date,text\n2019-05-23,a\n")
    with pytest.raises(UsageError, match=message):
        records(path, defaults=Defaults(columns=columns))


def test_a_refused_row_names_its_line_and_a_form_that_is_read(path: Path) -> None:
    path.write_text("fecha,texto\n2019-05-23,a\nayer,b\n2019-05-24,c, d\n")
    stored, rejects = documents(path)
    assert [document.text for document in stored] == ["a"]
    assert sorted((each.line, each.reason.partition(";")[2]) for each in rejects) == [
        (3, " write it as 2019-05-23 02:54:59, 2019-05-23T02:54:59+00:00 or 23/05/2019 02:54"),
        (4, ' a text that holds the sign between columns stands in quotes: "a, b"'),
    ]


def test_a_few_times_without_a_zone_are_refused_one_by_one(path: Path) -> None:
    path.write_text(
        "id,text,created_at\n1,a,2019-05-23T02:54:59Z\n2,b,2019-05-23 10:00\n3,c,2019-05-23\n"
    )
    stored, rejects = documents(path)
    assert [document.external_id for document in stored] == ["1", "3"]
    assert [(each.line, "--timezone" in each.reason) for each in rejects] == [(3, True)]
    stored, rejects = documents(path, defaults=Defaults(timezone="Europe/Madrid"))
    assert stored[1].created_at == datetime(2019, 5, 23, 8, tzinfo=UTC)


def test_unicode_text_of_excel_is_a_table_whatever_it_is_called(tmp_path: Path) -> None:
    content = "Fecha de envío\tTexto del tuit\r\n23/05/2019\tHola\r\n".encode("utf-16")
    (tmp_path / "table.txt").write_bytes(content)
    assert [document.text for document in documents(tmp_path / "table.txt")[0]] == ["Hola"]


def test_objects_of_json_may_have_other_names(path: Path) -> None:
    said = {"author": "ana", "body": "hello", "created_utc": 1558580099, "score": 3}
    (document,), _ = documents(orjson.dumps(said))
    assert (document.text, document.author, document.engagement) == ("hello", "ana", 3)
    assert document.created_at == datetime(2019, 5, 23, 2, 54, 59, tzinfo=UTC)


def test_a_plain_table_keeps_its_digests_and_needs_no_consent(path: Path) -> None:
    path.write_text("id,text,created_at\n1,a,2019-05-23T02:54:59Z\n")
    plain = records(path)[0][0].digest
    assert layout_of(path).guessed == ()
    path.write_text("id;text;created_at\n1;a;2019-05-23T02:54:59Z\n")
    assert records(path)[0][0].digest == plain
    assert records(path, defaults=Defaults(timezone="Europe/Madrid"))[0][0].digest != plain


@pytest.mark.parametrize(
    ("written", "number"),
    [
        *(("1.234", "1234"), ("1,234,567", "1234567"), ("12.0", "12"), ("12,5", "12")),
        *(("1.234,0", "1234"), ("1,234.50", "1234")),
        *(("1.2K", 1_200), ("3M", 3_000_000), ("x", "x"), (7, 7), (7.0, 7), (None, None)),
    ],
)
def test_spreadsheet_number_formats_are_read_as_counts(written: object, number: object) -> None:
    assert read_count(written) == number


def test_a_character_cut_at_the_sample_end_does_not_change_the_encoding() -> None:
    assert find_encoding("canción".encode()[:-2]) == "utf-8"
    assert find_encoding("canción".encode()[:6]) == "utf-8"
    assert find_encoding("canción".encode("cp1252")) == "cp1252"
    assert find_encoding(b"\x00\x01") is None


def _row_of(**cells: str) -> bytes:
    columns = {"id": "1724551110456246273", "date": "2023-11-14 22:13:20+00:00", **cells}
    return "\n".join(
        ",".join(f'"{value}"' for value in line) for line in (columns, columns.values())
    ).encode()


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("author.username", "ana_sails"),
        ("screen_name", "ana_sails"),
        ("user", "{'_type': 'snscrape.User', 'username': 'ana_sails', 'id': 4}"),
        ("user", "User(username='ana_sails', id=4, displayname='Ana')"),
        ("ownerUsername", "ana_sails"),
    ],
)
def test_programs_say_who_wrote_a_tweet(column: str, cell: str) -> None:
    (document,), _ = documents(_row_of(**{column: cell, "text": "the dam"}))
    assert (document.author, document.text) == ("ana_sails", "the dam")


@pytest.mark.parametrize(
    ("column", "cell", "is_repost"),
    [
        ("retweet", "1", True),
        ("retweet", "False", False),
        ("post_type", "RETWEET", True),
        ("post_type", "QUOTE_TWEET", False),
        ("sourcetweet_type", "retweeted", True),
        ("Type", "Retweet", True),
        ("Type", "Video 3", False),
        ("retweet_status_id", "1690000000000000000", True),
        ("referenced_tweets.retweeted.id", "1690000000000000000", True),
        ("retweetedTweet", "{'url': 'https://twitter.com/b/status/1'}", True),
    ],
)
def test_programs_say_what_is_a_repost(column: str, cell: str, is_repost: bool) -> None:
    (document,), _ = documents(_row_of(**{column: cell, "text": "the dam"}))
    assert (Flag.REPOST in document.flags) is is_repost


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ({"text": "the dam fl…", "fullText": "the dam floods"}, "the dam floods"),
        ({"text": "the dam", "fullText": None}, "the dam"),
        ({"title": "The dam", "selftext": ""}, "The dam"),
        ({"text": "b'the dam \\xe2\\x80\\x99s'"}, "the dam ’s"),
        ({"content": "<p>the dam &amp; <a href='x'>sea</a></p>"}, "the dam & sea"),
        ({"Comment Text": '{"text":"the "},{"text":"dam"}'}, "the dam"),
        ({"text": "NA"}, "NA"),
        ({"text": "b'the', b'dam'", "visibility": {"of": 1}}, "b'the', b'dam'"),
        ({"text": '{"text":1},{"x":2}'}, '{"text":1},{"x":2}'),
    ],
)
def test_what_programs_do_to_texts_is_undone(cells: dict[str, object], text: str) -> None:
    row = {"id": "x1724551110456246273", "date": "2023-11-14 22:13:20+00:00", **cells}
    more = {"reply_to_status_id": "NA", "author": {"userName": "ana_sails", "name": "Ana"}}
    other = row | {"id": "2"} | dict.fromkeys(cells, "another")
    document, *_ = documents(orjson.dumps([row | more, other]))[0]
    assert (document.external_id, document.reply_to) == ("1724551110456246273", None)
    assert (document.text or document.parts[0].text, document.author) == (text, "ana_sails")


def test_the_link_of_a_post_is_not_that_of_the_account() -> None:
    link = "https://twitter.com/ana/status/1724551110456246273"
    for column in ("status_url", "Post Link", "tweet_url", "permalink"):
        cells = {"text": "the dam", "url": "https://t.co/profile", column: link}
        (document,), _ = documents(_row_of(**cells))
        assert document.url == link, column
    (document,), _ = documents(_row_of(**{"Post text": "the dam", "Post Link": link}))
    assert (document.text, document.url) == ("the dam", link)


def test_json_that_resembles_the_api_is_read_by_its_columns() -> None:
    found = {
        "id": "1724551110456246273",
        "created_at": "2023-11-14 22:13:20 +00:00",
        "full_text": "the dam",
        "screen_name": "ana_sails",
        "favorite_count": 4,
    }
    for content in (orjson.dumps([found]), orjson.dumps(found, option=orjson.OPT_INDENT_2)):
        (document,), _ = documents(content)
        assert (document.text, document.author) == ("the dam", "ana_sails")

"""The two generations of the archive of one account, as JSON and as CSV."""

from datetime import UTC, datetime

import orjson
import pytest

from engine.errors import InputError
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, one, reason, table

OLD = {
    "source": "Twitter for iPhone",
    "text": "No Do-Overs &amp; more",
    "created_at": "Thu May 23 02:54:59 +0000 2019",
    "retweet_count": 17,
    "favorite_count": 65,
    "is_retweet": False,
    "id_str": "1131393056299786240",
}
NEW = {
    "date": 1558580099000,
    "favorites": 65,
    "retweets": 17,
    "isDeleted": False,
    "id": "1131393056299786240",
    "text": "No Do-Overs &amp; more",
    "device": "Twitter for iPhone",
    "isRetweet": False,
}
HEADER = "id,text,isRetweet,isDeleted,device,favorites,retweets,date,isFlagged"
COLUMNS = HEADER.split(",")
OLD_HEADER = "source,text,created_at,retweet_count,favorite_count,is_retweet,id_str"
OLD_COLUMNS = OLD_HEADER.split(",")
ROW = dict(NEW, date="2019-05-23 02:54:59", isRetweet="f", isDeleted="f", isFlagged="f")
OLD_ROW = dict(OLD, created_at="05-23-2019 02:54:59", is_retweet="false")


@pytest.mark.parametrize(
    "data",
    [
        orjson.dumps([OLD]),
        orjson.dumps([NEW]),
        orjson.dumps(NEW | {"date": "2019-05-23 02:54:59", "id": 1131393056299786240}),
        orjson.dumps(NEW | {"isRetweet": "f", "isDeleted": "f"}),
        table(ROW, columns=COLUMNS),
        table(OLD_ROW, columns=OLD_COLUMNS),
    ],
)
def test_every_layout_gives_the_same_document(data: bytes) -> None:
    (document,) = accepted(data)
    assert document.external_id == "1131393056299786240"
    assert document.text == "No Do-Overs & more"
    assert document.created_at == datetime(2019, 5, 23, 2, 54, 59, tzinfo=UTC)
    assert (document.engagement, document.flags) == (82, Flag.NONE)
    assert document.meta == {"device": "Twitter for iPhone"}


def test_times_in_the_csv_are_utc_as_the_ids_say() -> None:
    row = ROW | {"id": "98454970654916608", "date": "2011-08-02 18:07:48"}
    (document,), _ = documents(table(row, columns=COLUMNS))
    told_by_id = ((int(document.external_id) >> 22) + 1288834974657) // 1000
    assert moment_of(document).timestamp() == told_by_id


def test_flags_are_read() -> None:
    assert one(NEW | {"isRetweet": True, "isDeleted": True}).flags == Flag.REPOST | Flag.DELETED
    (document,), _ = documents(table(ROW | {"isRetweet": "t", "isDeleted": "t"}, columns=COLUMNS))
    assert document.flags == Flag.REPOST | Flag.DELETED
    assert "the repost flag is 'x'" in reason(NEW | {"isRetweet": "x"})


def test_bad_rows_are_rejected_by_line_and_the_rest_goes_in() -> None:
    good = table(ROW | {"text": 'two\nlines, "quoted"'}, columns=COLUMNS).split(b"\r\n", 1)
    bad = [
        b"1.13139E+18,a,f,f,x,1,1,2019-05-23 02:54:59,f",
        b"5,a,f",
        b"6,\xff,f,f,x,1,1,2019-05-23 02:54:59,f",
        b"",
        b"7,a,f,f,x,1,1,23/05/2019,f",
        b"8," + b"x" * 2_000_000 + b",f,f,x,1,1,2019-05-23 02:54:59,f",
        b"9," + b"x" * 200_000 + b",f,f,x,1,1,2019-05-23 02:54:59,f",
        good[1] + b'10,"never closed',
    ]
    stored, rejects = documents(good[0] + b"\r\n" + b"\r\n".join(bad))
    assert [(d.external_id, d.text) for d in stored] == [(NEW["id"], 'two\nlines, "quoted"')]
    assert sorted((r.line, r.reason.partition(",")[0][:34]) for r in rejects) == [
        (2, "the id 1.13139E+18 was rounded by "),
        (3, "3 columns where the first line nam"),
        (4, "invalid UTF-8"),
        (6, "the time '23/05/2019' cannot be re"),
        (7, "longer than 1"),
        (8, "not valid CSV: field larger than f"),
        (11, "2 columns where the first line nam"),
    ]


def test_an_explicit_format_rejects_a_table_with_other_columns() -> None:
    with pytest.raises(InputError, match="does not begin with the columns of the archive"):
        documents(b"a,b\n1,2\n", form="trump-archive-csv")

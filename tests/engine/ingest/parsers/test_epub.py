"""EPUB books: chapters in the order of reading."""

from datetime import UTC, datetime

import pytest

from engine.errors import RecordError
from engine.ingest.parsers.packed import parse_epub, parse_word
from engine.values import DateKind
from tests.fakes.documents import epub, word


def test_chapters_come_in_the_order_of_reading() -> None:
    found = parse_epub(epub("<h1>One</h1><p>It began.</p>", "<h1>Two</h1><p>It ended.</p>"))
    assert [(block.text, block.headings) for block in found.blocks] == [
        ("It began.", ("One",)),
        ("It ended.", ("Two",)),
    ]
    assert (found.title, found.author, found.language) == ("A book", "Ana Paz", "es")
    assert found.date == datetime(1999, 1, 1, tzinfo=UTC)


def test_marks_of_notes_and_lists_of_chapters_are_no_text() -> None:
    marks = (
        '<p>It rose<a href="#id8">8</a> in 2019<sup><a href="n.xhtml#n1">12</a></sup>.</p>',
        '<p>It fell<a epub:type="noteref" href="#n2">*</a>. <a href="#back">↩</a></p>',
        '<nav epub:type="toc"><ol><li><a href="c.xhtml">One</a></li></ol></nav>',
        '<p>See <a href="#three">chapter 3</a>, H<sub>2</sub>O and m<sup>2</sup>.</p>',
    )
    found = parse_epub(epub(*marks, "<p>One 1</p>", contents=4))
    assert [block.text for block in found.blocks] == [
        "It rose8 in 2019.",
        "It fell.",
        "See chapter 3, H2O and m2.",
    ]


def test_each_table_row_repeats_the_cells_that_span_it() -> None:
    table = (
        "<table><caption>Catch</caption><tr><th>Year</th><th>Port</th><th colspan=2>Fish</th></tr>"
        "<tr><td rowspan=2>2011</td><td>Azul</td><td></td><td>7<sup><a href='#n'>a</a></sup></td>"
        "</tr><tr><td>Rojo</td><td>5</td></tr><tr><td colspan=4>In all: 12</td></tr></table>"
    )
    [block] = parse_epub(epub(table)).blocks
    assert block.text.split("\n") == [
        "Catch",
        "Year | Port | Fish | Fish",
        "2011 | Azul |  | 7",
        "2011 | Rojo | 5",
        "In all: 12",
    ]


def test_cells_with_a_huge_span_are_not_expanded() -> None:
    wide = "<table>" + "<tr><td colspan=1000000 rowspan=1000000>x</td><td>y</td></tr>" * 200
    assert sum(len(block.text) for block in parse_epub(epub(wide + "</table>")).blocks) < 60_000


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (epub("<p>Hello.</p>", encrypted=True), "protected"),
        (epub(""), "holds no text"),
        (epub("<p>Hello.</p>")[:-100], "damaged"),
    ],
)
def test_each_fault_of_an_epub_has_its_own_reason(content: bytes, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        parse_epub(content)


@pytest.mark.parametrize(
    ("dates", "date", "dated_by"),
    [
        ("", None, None),
        ("<dc:date/>", None, None),
        ("<dc:date>some day</dc:date>", None, None),
        ("<dc:date>2001-05</dc:date>", None, None),
        ("<dc:date>2001-05-04</dc:date>", datetime(2001, 5, 4, tzinfo=UTC), None),
        (
            '<dc:date opf:event="modification">2014-05-04</dc:date>'
            '<dc:date opf:event="publication">2001</dc:date>',
            datetime(2001, 1, 1, tzinfo=UTC),
            None,
        ),
        (
            '<dc:date opf:event="creation">2014-05-04</dc:date>',
            datetime(2014, 5, 4, tzinfo=UTC),
            DateKind.CREATED,
        ),
        (
            '<meta property="dcterms:modified">2014-05-04T10:00:00Z</meta>',
            datetime(2014, 5, 4, 10, tzinfo=UTC),
            DateKind.MODIFIED,
        ),
        (
            '<meta property="dcterms:modified">2014-05-04T10:00:00Z</meta><dc:date>1999</dc:date>',
            datetime(1999, 1, 1, tzinfo=UTC),
            None,
        ),
    ],
)
def test_a_date_other_than_publication_is_labelled_by_its_kind(
    dates: str, date: datetime | None, dated_by: DateKind | None
) -> None:
    found = parse_epub(epub("<p>Hello.</p>", dates=dates))
    assert (found.date, found.dated_by) == (date, dated_by)


def test_paragraphs_stand_under_their_headings() -> None:
    found = parse_word(
        word("Foreword.", "# Prices", "## Coffee", "It rose.", "|Year|Price", "# Tea", title="T")
    )
    assert [(block.text, block.headings) for block in found.blocks] == [
        ("Foreword.", ()),
        ("It rose.", ("Prices", "Coffee")),
        ("Year | Price", ("Prices", "Coffee")),
        ("Tea", ()),
    ]
    assert (found.title, found.author, found.pages) == ("T", "Ana Paz", None)
    assert found.date == datetime(2020, 3, 1, 10, tzinfo=UTC)
    assert found.dated_by is DateKind.MODIFIED


@pytest.mark.parametrize(
    ("content", "reason"),
    [(word(), "holds no text"), (word("Hello.")[:-200], "damaged"), (b"PK\x03\x04", "damaged")],
)
def test_each_fault_of_a_word_file_has_its_own_reason(content: bytes, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        parse_word(content)


def test_entities_of_strangers_are_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "b">]>'
    with pytest.raises(RecordError, match="damaged"):
        parse_word(_with_properties(word("Hello."), bomb))


def _with_properties(content: bytes, text: str) -> bytes:
    import io
    import zipfile

    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, text + "<x/>" if name.endswith("core.xml") else old.read(name))
    return made.getvalue()

"""EPUB books: chapters in the order of reading."""

from datetime import UTC, datetime

import pytest

from engine.errors import RecordError
from engine.ingest.parsers.packed import parse_epub
from engine.values import DateKind
from tests.fakes.documents import epub


def test_chapters_come_in_the_order_of_reading() -> None:
    found = parse_epub(epub("<h1>One</h1><p>It began.</p>", "<h1>Two</h1><p>It ended.</p>"))
    assert [(block.text, block.headings) for block in found.blocks] == [
        ("It began.", ("One",)),
        ("It ended.", ("Two",)),
    ]
    assert (found.title, found.author, found.language) == ("A book", "Ana Paz", "es")
    assert found.date == datetime(1999, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (epub("<p>Hello.</p>", encrypted=True), "protected"),
        (epub(""), "holds no text"),
        (epub("<p>Hello.</p>")[:-100], "damaged"),
    ],
)
def test_faults_are_told_apart(content: bytes, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        parse_epub(content)


@pytest.mark.parametrize(
    ("dates", "date", "told"),
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
def test_a_date_is_that_of_publication_or_named_for_what_it_is(
    dates: str, date: datetime | None, told: DateKind | None
) -> None:
    found = parse_epub(epub("<p>Hello.</p>", dates=dates))
    assert (found.date, found.dated_by) == (date, told)

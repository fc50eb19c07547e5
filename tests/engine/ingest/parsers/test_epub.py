"""EPUB books: chapters in the order of reading."""

from datetime import UTC, datetime

import pytest

from engine.errors import RecordError
from engine.ingest.parsers.packed import parse_epub
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

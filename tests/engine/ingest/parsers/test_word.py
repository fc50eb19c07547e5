"""Word files: headings, tables and properties."""

from datetime import UTC, datetime

import pytest

from engine.errors import RecordError
from engine.ingest.parsers.packed import parse_word
from engine.values import DateKind
from tests.fakes.documents import word


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

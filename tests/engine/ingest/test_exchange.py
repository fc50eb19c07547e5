"""What an archive is written as comes back as the same documents, from every format."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpora import Document, Part
from engine.errors import RecordError
from engine.ingest.detect import READERS
from engine.ingest.exchange import COLUMNS, cells_of, record_of
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, SourceRequest
from engine.text.clean import guard_cell, make_searchable, unguard_cell
from engine.values import DateKind, Flag, Kind
from tests.engine.ingest.reading import accepted, documents, records
from tests.engine.ingest.test_hostile import contents
from tests.fakes.documents import epub, pdf, word

MOMENT = datetime(2019, 5, 23, 2, 54, 59, 123456, tzinfo=UTC)


def as_lines(exported: Sequence[Document], kind: Kind = Kind.SOCIAL) -> bytes:
    return b"\n".join(orjson.dumps(record_of(document, kind)) for document in exported)


def as_table(exported: Sequence[Document], kind: Kind = Kind.SOCIAL) -> bytes:
    out = io.StringIO()
    rows = [cells_of(record_of(document, kind)) for document in exported]
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([COLUMNS, *rows])
    return out.getvalue().encode()


def plain(found: Sequence[Document]) -> list[Document]:
    """The documents without what is about their file."""
    return [replace(each, digest=0, is_language_named=True, unread=None) for each in found]


def assert_comes_back(exported: Sequence[Document]) -> None:
    for content in (as_lines(exported), as_table(exported)):
        again = accepted(content)
        assert plain(again) == plain(exported)
        once_more, _ = documents(as_lines(again))
        assert plain(once_more) == plain(exported)


def test_every_format_survives_export_and_import(tmp_path: Path) -> None:
    good = [record for each in contents(tmp_path) for record in records(each)[0]]
    without_sample = set(READERS) - {record.format for record in good}
    others = {"documents", "facebook-html", "x-circle", "telegram-html"}
    assert without_sample == others, "each format has a sample in `contents` of test_hostile.py"
    assert_comes_back([normalise(record, Defaults(author="ana")) for record in good])


def test_documents_in_parts_survive_export_and_import(tmp_path: Path) -> None:
    sentence = "The harbour of the north costs far more than anybody has ever said. "
    (tmp_path / "a.pdf").write_bytes(pdf([sentence * 60, sentence * 60]))
    (tmp_path / "b.epub").write_bytes(epub("A book about boats. " * 200))
    (tmp_path / "c.docx").write_bytes(word("The minutes of a meeting."))
    stored, rejects = documents(tmp_path)
    assert (len(stored), rejects) == (3, [])
    assert any(len(document.parts) > 2 for document in stored)
    assert_comes_back(stored)


TEXTS = st.text(min_size=1, max_size=60).map(
    lambda text: f"x{text}".replace("\0", "")
) | st.sampled_from(
    [
        "=1+1",
        "'=1+1",
        "''-a",
        "-",
        "@ana says",
        "+1",
        "\t=a",
        "&amp;amp; &lt;",
        '"""a""',
        "a\r\nb",
        "＝1",
    ]
)


@given(TEXTS, TEXTS, st.integers(0, 2**31 - 1), st.lists(TEXTS, max_size=2))
def test_any_text_survives_export_and_import(
    text: str, author: str, likes: int, names: list[str]
) -> None:
    text, author = (each.encode("utf-8", "ignore").decode() for each in (text, author))
    names = [name.encode("utf-8", "ignore").decode() for name in names]
    document = Document(
        external_id="-1",
        text=text,
        search_text=make_searchable(text),
        created_at=MOMENT,
        digest=0,
        author=author,
        engagement=likes,
        tags=tuple(names),
        meta={"attachments": names, "app": author} if names else {"app": author},
        flags=Flag.QUOTE | Flag.TRUNCATED,
    )
    assert_comes_back([document] if text.strip() else [])


def test_imported_records_are_not_enriched_with_derived_fields() -> None:
    text = "RT @bob: Look #boats https://t.co/abc…"
    document = Document(
        external_id="1131393056299786240",
        text=text,
        search_text="other words",
        created_at=None,
        dated_by=DateKind.CREATED,
        digest=0,
        reply_to="someone",
        parts=(),
    )
    assert_comes_back([document])


def test_a_book_of_several_megabytes_is_one_record() -> None:
    parts = tuple(
        Part(text=f"{number} {'word ' * 400}", search_text=f"{number} other", page=number)
        for number in range(1, 1_500)
    )
    book = Document(
        external_id="book", text="", search_text="", created_at=None, digest=0, parts=parts
    )
    content = as_lines([book], Kind.LIBRARY)
    assert len(content) > 2_000_000
    again, rejects = documents(content)
    assert (plain(again), rejects) == ([book], [])
    with pytest.raises(RecordError, match=r"too long for a CSV.*--format jsonl"):
        as_table([book])


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("write", [as_lines, as_table])
def test_an_export_states_the_kind_of_its_corpus(kind: Kind, write: object, tmp_path: Path) -> None:
    document = Document(external_id="1", text="a", search_text="a", created_at=MOMENT, digest=0)
    (tmp_path / "export").write_bytes(write([document], kind))  # type: ignore[operator]
    with open_source(SourceRequest(str(tmp_path / "export"))) as stream:
        assert stream.opened.kinds[0] is kind
        assert (stream.opened.kinds == (kind,)) == (kind is Kind.PERSONAL)
        assert stream.opened.table
        assert stream.opened.table.guessed == ()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        *(("=1", "'=1"), ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("\t1", "'\t1")),
        *(("a=1", "a=1"), (None, ""), (-1, "-1"), ("", "")),
        *(("hola;=cmd|'x'!A1", "hola;'=cmd|'x'!A1"), ("a\n=1\r\n-2\n", "a\n'=1\r\n'-2\n")),
        *(("a\t@b", "a\t'@b"), ("a,+1", "a,'+1"), ("a;;=1", "a;;'=1"), ("a; -1", "a; -1")),
        *(("'=1", "''=1"), ("a;'=1", "a;''=1"), ("it's", "it's"), ("a\n\nb", "a\n\nb")),
    ],
)
def test_csv_cells_are_never_formulas(value: object, cell: str) -> None:
    assert guard_cell(value) == cell
    if isinstance(value, str):
        assert unguard_cell(cell) == value


@given(st.text("=+-@;,|'\t\r\na "))
def test_no_part_of_a_csv_cell_is_a_formula_and_each_is_read_back(text: str) -> None:
    cell = guard_cell(text)
    assert unguard_cell(cell) == text
    assert not [part for part in re.split(r"[;,|\t\r\n]", cell) if part[:1] in set("=+-@")]


def test_lists_in_a_csv_are_no_formulas_and_are_read_back() -> None:
    tags = ("a;=cmd|'x'!A1", "=b")
    document = Document(
        external_id="1", text="a", search_text="a", created_at=MOMENT, digest=0, tags=tags
    )
    table = as_table([document], Kind.TWEETS)
    assert b";=" not in table
    assert documents(table)[0][0].tags == tags


def test_manipulated_export_records_are_bounded_and_cleaned() -> None:
    base = {"presagio": 1, "kind": "tweets", "id": "1", "text": "a", "created_at": None}
    odd = {"url": "javascript:x", "flags": ["thread", "nonsense", 5], "favorites": 2**40, "meta": 7}
    (document,), _ = documents(orjson.dumps(base | odd | {"lang": "xyz", "dated_by": "now"}))
    assert (document.url, document.flags, document.meta) == (None, Flag.NONE, {})
    assert (document.engagement, document.lang, document.dated_by) == (2**31 - 1, None, None)
    for change in ({"text": "x" * 100_001}, {"text": " "}, {"thread": "t" * 501}):
        assert documents(orjson.dumps(base | change))[0] == []
    assert records(orjson.dumps(base | {"id": "a~part1"}))[0]
    assert documents(orjson.dumps(base | {"id": "a~part1"}))[0] == []

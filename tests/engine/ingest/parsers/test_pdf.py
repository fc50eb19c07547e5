"""PDF files: pages, paragraphs, headings of the outline, and the faults that are told apart."""

from datetime import UTC, datetime

import pytest

from engine.errors import RecordError
from engine.ingest.parsers.ocr import Ocr
from engine.ingest.parsers.pdf import parse_pdf
from engine.messages import Message
from engine.values import DateKind
from tests.fakes.documents import pdf


class _StandIn(Ocr):
    """Reads the same in each picture, and keeps the pictures; or is too slow, or not installed."""

    def __init__(self, says: str = "", *, available: bool = True) -> None:
        super().__init__()
        self._says, self._available = says, available
        self.pictures = list[bytes]()

    @property
    def available(self) -> bool:
        return self._available

    def read(self, picture: bytes) -> str:
        self.pictures.append(picture)
        if not self._says:
            raise RecordError(Message("too slow"))
        return self._says


_BLIND = _StandIn(available=False)


def test_paragraphs_carry_their_page_numbers() -> None:
    found = parse_pdf(
        pdf(
            ["Coffee prices rose for the third year in a row, as", "was foretold.", "It rained."],
            ["Tea is another matter."],
            title="Prices",
            date="D:20200131120000+01'00'",
        ),
        _BLIND,
    )
    assert [(block.text, block.page) for block in found.blocks] == [
        ("Coffee prices rose for the third year in a row, as was foretold.", 1),
        ("It rained.", 1),
        ("Tea is another matter.", 2),
    ]
    assert (found.title, found.author, found.pages) == ("Prices", "Ana Paz", 2)
    assert found.date == datetime(2020, 1, 31, 11, tzinfo=UTC)
    assert found.dated_by is DateKind.CREATED


def test_a_paragraph_may_continue_on_the_next_page() -> None:
    found = parse_pdf(pdf(["The price of coffee"], ["rose again."]), _BLIND)
    [block] = found.blocks
    assert (block.text, block.page, block.last_page) == ("The price of coffee rose again.", 1, 2)


def test_titles_of_the_outline_are_headings() -> None:
    found = parse_pdf(
        pdf(["Past", "It rose."], ["Present", "It falls."], outline={"Past": 1, "Present": 2}),
        _BLIND,
    )
    assert [(block.text, block.headings) for block in found.blocks] == [
        ("It rose.", ("Past",)),
        ("It falls.", ("Present",)),
    ]


def test_running_titles_are_left_out() -> None:
    pages = [
        [f"Report {number}", *(f"{page}{line} is long." for line in "abcdef"), f"- {number}"]
        for number, page in enumerate("UVXYZ", start=1)
    ]
    texts = " ".join(block.text for block in parse_pdf(pdf(*pages), _BLIND).blocks)
    assert "Xa is long." in texts
    assert "Report" not in texts
    assert "- 3" not in texts


def test_running_titles_may_change_by_chapter_and_stand_on_left_pages_alone() -> None:
    def page(head: str, letter: str) -> list[str]:
        return [head, *(f"{letter}{line} is long." for line in "abcdefg")]

    heads = [name for name in ("Ships", "Storms") for _ in range(8)]
    pages = [
        page(head if at % 2 else f"The book {at}", f"W{'UVXYZQRT'[at % 8]}{at // 8}")
        for at, head in enumerate(heads)
    ]
    texts = " ".join(block.text for block in parse_pdf(pdf(*pages), _BLIND).blocks)
    assert "WU0a is long." in texts
    assert not any(name in texts for name in ("Ships", "Storms", "The book"))


def test_headings_in_another_font_are_separated_from_the_text() -> None:
    lines = ["{16}In the Beginning", "The project began long ago and it was", "good for a while."]
    bold = [
        "{11b}Prices of all the kinds of coffee here",
        "They rose for years and years, and",
        "fell.",
    ]
    italic = ["{11i}A short one", "Tea did not, which surprised all that", "drank it."]
    found = parse_pdf(pdf([*lines, *bold, *italic]), _BLIND)
    assert [block.text for block in found.blocks] == [
        "In the Beginning",
        "The project began long ago and it was good for a while.",
        "Prices of all the kinds of coffee here",
        "They rose for years and years, and fell.",
        "A short one",
        "Tea did not, which surprised all that drank it.",
    ]


def test_notes_do_not_stand_within_a_sentence() -> None:
    body = ["The price of coffee rose for years and then it was", "noted by everybody that"]
    notes = ["{8}1) Of the first quality, as the board said.", "{8}2) As was foretold."]
    found = parse_pdf(pdf([*body, *notes, "it fell again."]), _BLIND)
    whole = " ".join([*body, "it fell again."])
    said = ["1) Of the first quality, as the board said.", "2) As was foretold."]
    assert [block.text for block in found.blocks] == [whole, *said]
    found = parse_pdf(pdf([*body, *notes], ["it fell again.", "It rained all day long."]), _BLIND)
    assert [block.text for block in found.blocks] == [whole, *said, "It rained all day long."]
    assert next((block.page, block.last_page) for block in found.blocks) == (1, 2)


def test_a_table_of_contents_is_no_passage() -> None:
    entries = [f"{number}. Chapter of ships {'. ' * 12}{number * 7}" for number in range(1, 6)]
    found = parse_pdf(pdf(["Contents", *entries, "Preface"], ["It began."]), _BLIND)
    assert [block.text for block in found.blocks] == ["Preface", "It began."]
    few = [f"Coffee {'.' * 9} 4", f"Tea {'.' * 9} 3"]  # a list of prices
    texts = " ".join(block.text for block in parse_pdf(pdf(few), _BLIND).blocks)
    assert "Coffee" in texts and "Tea" in texts


@pytest.mark.parametrize("made_up", ["untitled", "Microsoft Word - report.doc", "report.docx", " "])
def test_generated_titles_are_ignored(made_up: str) -> None:
    assert parse_pdf(pdf(["Hello."], title=made_up), _BLIND).title is None


@pytest.mark.parametrize("date", ["", "yesterday", "D:2020", "D:20201350", "D:00010101"])
def test_impossible_dates_are_ignored(date: str) -> None:
    found = parse_pdf(pdf(["Hello."], date=date), _BLIND).date
    assert found == (datetime(2020, 1, 1, tzinfo=UTC) if date == "D:2020" else None)


def test_a_page_without_text_is_read_as_a_picture() -> None:
    ocr = _StandIn("What a scan says.")
    found = parse_pdf(pdf([], ["Typed."], drawn=True), ocr)
    assert [(block.text, block.page, block.recognised) for block in found.blocks] == [
        ("What a scan says.", 1, True),
        ("Typed.", 2, False),
    ]
    assert found.unread is None
    [picture] = ocr.pictures
    head, width, height, maximum = picture.split(maxsplit=4)[:4]
    assert (head, maximum) == (b"P5", b"255")
    assert (
        len(picture)
        == int(width) * int(height) + len(b" ".join((head, width, height, maximum))) + 1
    )


def test_unreadable_pages_do_not_affect_the_others() -> None:
    found = parse_pdf(pdf([], ["Typed."], [], drawn=True), _BLIND)
    assert [(block.text, block.page) for block in found.blocks] == [("Typed.", 2)]
    assert found.pages == 3
    assert found.unread == (
        "2 of its 3 pages were not read: reading the text of pictures needs the program tesseract"
    )


def test_a_page_that_times_out_does_not_affect_the_others() -> None:
    found = parse_pdf(pdf([], ["Typed."], drawn=True), _StandIn())
    assert [block.text for block in found.blocks] == ["Typed."]
    assert found.unread == "1 of its 2 pages were not read: too slow"
    with pytest.raises(RecordError, match="too slow"):
        parse_pdf(pdf([], drawn=True), _StandIn())


def test_an_empty_page_holds_no_text() -> None:
    with pytest.raises(RecordError, match="holds no text"):
        parse_pdf(pdf([]), _StandIn("What a scan says."))

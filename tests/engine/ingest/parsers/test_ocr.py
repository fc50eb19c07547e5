"""Pictures of text, read by tesseract where it is installed."""

from importlib import import_module

import pytest

from engine.errors import RecordError
from engine.ingest.parsers import ocr as module
from engine.ingest.parsers.ocr import Ocr, parse_picture
from engine.ingest.parsers.pdf import parse_pdf, rendered
from tests.fakes.documents import pdf

needs_tesseract = pytest.mark.skipif(not Ocr().available, reason="tesseract is not installed")


def _picture() -> bytes:
    """Return a page with text on it as a picture."""
    document = import_module("pypdfium2").PdfDocument(
        pdf(["Coffee prices rose again", "in the city of London."])
    )
    return rendered(document[0])


@needs_tesseract
def test_a_picture_is_read() -> None:
    signs: list[None] = []
    found = parse_picture(_picture(), Ocr("english", alive=lambda: signs.append(None)))
    assert "Coffee prices rose again" in found.blocks[0].text
    assert found.pages == 1
    assert len(signs) == 1


@needs_tesseract
def test_what_is_no_picture_is_damaged() -> None:
    with pytest.raises(RecordError, match="damaged"):
        parse_picture(b"\x89PNG and nothing else", Ocr("english"))


@needs_tesseract
def test_the_data_of_another_language_is_used_if_its_own_is_missing() -> None:
    assert "rose again" in parse_picture(_picture(), Ocr("icelandic")).blocks[0].text


def test_without_the_program_a_picture_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_program", lambda: None)
    with pytest.raises(RecordError, match="needs the program tesseract"):
        parse_picture(b"P5 1 1 255\n\0", Ocr())
    with pytest.raises(RecordError, match="needs the program tesseract"):
        parse_pdf(pdf([], drawn=True), Ocr())

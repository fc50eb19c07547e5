"""Pictures of text, read by tesseract where it is installed."""

import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from engine.errors import RecordError
from engine.ingest.parsers import ocr as module
from engine.ingest.parsers.ocr import Ocr, parse_picture
from engine.ingest.parsers.pdf import parse_pdf, render_page
from tests.fakes.documents import pdf, scanned
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[4]

needs_tesseract = pytest.mark.needs("tesseract")


def _picture() -> bytes:
    document = import_module("pypdfium2").PdfDocument(
        pdf(["Coffee prices rose again", "in the city of London."])
    )
    return render_page(document[0])


@needs_tesseract
def test_text_in_a_picture_is_recognised() -> None:
    signs: list[None] = []
    found = parse_picture(_picture(), Ocr("english", alive=lambda: signs.append(None)))
    assert "Coffee prices rose again" in found.blocks[0].text
    assert found.pages == 1
    assert len(signs) == 1


@needs_tesseract
def test_a_scanned_file_is_read_page_by_page() -> None:
    signs: list[None] = []
    lines = ["The harbour of the north", "cost nine million in 1911."]
    found = parse_pdf(
        scanned(lines, ["The mayor wanted a canal."]),
        Ocr("english", alive=lambda: signs.append(None)),
    )
    read = [(" ".join(block.text.split()), block.page, block.recognised) for block in found.blocks]
    assert read == [
        ("The harbour of the north cost nine million in 1911.", 1, True),
        ("The mayor wanted a canal.", 2, True),
    ]
    assert (found.pages, found.unread, len(signs)) == (2, None, 2)


@needs_tesseract
def test_an_invalid_picture_is_reported_as_damaged() -> None:
    with pytest.raises(RecordError, match="damaged"):
        parse_picture(b"\x89PNG and nothing else", Ocr("english"))


@needs_tesseract
def test_the_data_of_another_language_is_used_if_its_own_is_missing() -> None:
    assert "rose again" in parse_picture(_picture(), Ocr("icelandic")).blocks[0].text


def test_a_picture_without_tesseract_gives_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_find_program", lambda: None)
    with pytest.raises(RecordError, match="needs the program tesseract"):
        parse_picture(b"P5 1 1 255\n\0", Ocr())
    with pytest.raises(RecordError, match="needs the program tesseract"):
        parse_pdf(pdf([], drawn=True), Ocr())


def _program(tmp_path: Path, script: str) -> str:
    path = tmp_path / "tesseract"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sleep 60", "takes more than 60 s"),
        ("kill -9 $$", "takes more than"),
        ("exit 1", "damaged"),
    ],
)
def test_a_picture_that_takes_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, reason: str
) -> None:
    program = _program(tmp_path, script)
    monkeypatch.setattr(module, "_find_program", lambda: program)
    monkeypatch.setattr(module, "_list_installed_languages", lambda: ("eng",))
    monkeypatch.setattr(module, "_CLOCK", 0.2 if script.startswith("sleep") else 60)
    with pytest.raises(RecordError, match=reason):
        Ocr().read(b"P5 1 1 255\n\0")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends after its minute")
def test_the_program_ends_with_the_process_that_reads(tmp_path: Path) -> None:
    named = tmp_path / "pid"
    program = _program(tmp_path, f"echo $$ > {named}.new; mv {named}.new {named}; exec sleep 60")
    source = (
        "from engine.ingest.parsers import ocr; ocr._list_installed_languages = lambda: ('eng',);"
        f" ocr._find_program = lambda: {program!r}; ocr.Ocr().read(b'x')"
    )
    reading = subprocess.Popen([sys.executable, "-c", source], cwd=ROOT)
    ends = time.monotonic() + PATIENCE
    while not named.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    place = Path("/proc") / named.read_text().strip()
    assert place.exists()
    reading.kill()
    reading.wait()
    while _runs(place) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not _runs(place)


def _runs(place: Path) -> bool:
    """Tell whether a process is there and is no zombie."""
    try:
        return (place / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

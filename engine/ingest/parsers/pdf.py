"""Parses PDF files; pages without text are recognised by OCR."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from itertools import chain
from typing import Any, Self

from engine.errors import RecordError
from engine.ingest.parsers.ocr import Ocr
from engine.ingest.parsers.parsed import (
    SENTENCE_END,
    Heading,
    ParsedDocument,
    damaged_error,
    empty_error,
    first_date,
    full_line,
    join_paragraphs,
    missing_extra_error,
    protected_error,
    said_date,
    under_headings,
    without_contents,
    without_running_titles,
)
from engine.messages import Message
from engine.text.chunks import Block
from engine.values import DateKind

_PASSWORD = 4  # FPDF_ERR_PASSWORD
_DPI = 200
_POINTS = 72  # to the inch
_MAX_PIXELS = 25_000_000
# Where a line ends within a word, the library puts one of these in place of the hyphen.
_WITHIN_WORD = re.compile("[\x02\ufffe](?:\\r?\\n)?")
_CUT_WORD = ("\x02", "\ufffe")
_FRACTION = "\u2044"  # its raised number may have a line of its own
_LINE_END = re.compile(r"\r?\n")
# What stands out is named in the name of its font.
_EMPHASIS = re.compile(rb"bold|black|heavy|demi|cmbx|italic|oblique|cmti|cmsl", re.IGNORECASE)
_LONGEST_FONT_NAME = 100
_SMALL = 0.92  # of the height of other letters
_NOTE = re.compile(r"\s*(?:\(?\d{1,3}[).\]]?|\[\d{1,3}\]|[*†‡§]{1,3})\s*\S")
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-]\d\d)'?(\d\d)?)?")
# Titles that programs make up.
_NO_TITLE = re.compile(
    r"untitled.*|microsoft \w+ - .*|.*\.(?:docx?|indd|qxd|pdf|rtf|tex|dvi|p65|pptx?)", re.IGNORECASE
)
_PUNCTUATION = re.compile(r"\W+")
_MAX_HEADINGS = 10_000
_LONGEST_LABEL = 20  # characters; what is longer is no number that is printed on a page
_Headings = dict[tuple[int, str], int]


def parse_pdf(content: bytes, ocr: Ocr) -> ParsedDocument:
    """Return the text of a PDF file by pages. Raises RecordError."""
    with _open_document(content) as document:
        pages = _Pages.read(document, ocr)
        metadata = document.get_metadata_dict()
        headings = _read_headings(document)
        labels = _read_labels(document)
    blocks = _join_paragraphs(under_headings(_page_blocks(pages, headings)))
    if not blocks:
        raise pages.faults[0] if pages.faults else empty_error()
    date, dated_by = first_date(
        (_parse_pdf_date(metadata["CreationDate"]), DateKind.CREATED),
        (_parse_pdf_date(metadata["ModDate"]), DateKind.MODIFIED),
    )
    title = metadata["Title"].strip()
    return ParsedDocument(
        blocks=blocks,
        title=None if _NO_TITLE.fullmatch(title) else title or None,
        author=metadata["Author"].strip() or None,
        date=date,
        dated_by=dated_by,
        pages=len(pages.lines),
        page_labels=labels,
        unread=pages.unread,
    )


@contextmanager
def _open_document(content: bytes) -> Iterator[Any]:
    """Open a PDF file for the block. Raises RecordError, also for what its library raises there."""
    try:
        library = import_module("pypdfium2")
    except ImportError as exc:
        raise missing_extra_error() from exc
    try:
        with closing(library.PdfDocument(content)) as document:
            yield document
    except library.PdfiumError as exc:
        raise (protected_error() if exc.err_code == _PASSWORD else damaged_error()) from exc


def _read_labels(document: Any) -> tuple[str, ...]:
    """Return the numbers of all pages as printed ("iv", "5"), or () if they count from 1."""
    every = range(len(document))
    labels = [" ".join(document.get_page_label(page).split())[:_LONGEST_LABEL] for page in every]
    named = tuple(label or str(page) for page, label in enumerate(labels, start=1))
    return () if named == tuple(str(page + 1) for page in every) else named


@dataclass(slots=True)
class _Pages:
    """The texts of all pages, the numbers of those read by OCR, and why others were not read."""

    lines: list[list["_Line"]] = field(default_factory=list)
    recognised: set[int] = field(default_factory=set)
    faults: list[RecordError] = field(default_factory=list)

    @classmethod
    def read(cls, document: Any, ocr: Ocr) -> Self:
        pages = cls()
        for number in range(1, len(document) + 1):
            with closing(document[number - 1]) as page:
                pages.lines.append(pages._read_lines(page, number, ocr))
        return pages

    def _read_lines(self, page: Any, number: int, ocr: Ocr) -> list["_Line"]:
        with closing(page.get_textpage()) as words:
            text: str = words.get_text_range()
            if text.strip() or not any(True for _ in page.get_objects(max_depth=1)):
                return _split_lines(text, words)
        try:
            ocr.require()  # before the page is rendered
            text = ocr.read(render_page(page))
        except RecordError as exc:  # the other pages may be readable
            self.faults.append(exc)
            return []
        self.recognised.add(number)
        return [_Line(line) for line in _LINE_END.split(text)]

    @property
    def unread(self) -> Message | None:
        """How many pages were not read, and why; None if all were."""
        if not self.faults:
            return None
        return Message(
            "{unread} of its {pages} pages were not read: {reason}",
            unread=len(self.faults),
            pages=len(self.lines),
            reason=self.faults[0].full_message,
        )


class _Line(str):
    """A line of a page, with the height of its letters, 0 if it is not known."""

    __slots__ = ("emphatic", "size")
    size: float
    emphatic: bool  # in bold or italic letters

    def __new__(cls, text: str, size: float = 0.0, *, emphatic: bool = False) -> Self:
        """Return the line."""
        line = super().__new__(cls, text)
        line.size, line.emphatic = size, emphatic
        return line


def _split_lines(text: str, words: Any) -> list[_Line]:
    """Return the lines of a page; one that ends within a word or a fraction goes on."""
    lines: list[_Line] = []
    start = 0
    pending = ""
    for end in (*(line.span() for line in _LINE_END.finditer(text)), (len(text), len(text))):
        part = text[start : end[0]]
        pending += _WITHIN_WORD.sub("", part)
        if not part.endswith(_CUT_WORD) and not text.startswith(_FRACTION, end[1]):
            lines.append(_measure_line(pending, words, text, start, end[0]))
            pending = ""
        start = end[1]
    return [*lines, *([_Line(pending)] if pending else [])]


def _measure_line(line: str, words: Any, text: str, start: int, end: int) -> _Line:
    """Return a line with the size and the weight that its first, middle and last letters have."""
    library = import_module("pypdfium2.raw")
    places = [place for place in range(start, end) if not text[place].isspace()]
    samples = {places[0], places[len(places) // 2], places[-1]} if places else ()
    if any(library.FPDFText_GetUnicode(words, place) != ord(text[place]) for place in samples):
        return _Line(line)  # a character was left out before: no place is sure
    boxes = [words.get_charbox(place, loose=True) for place in samples]
    sizes = sorted(abs(top - bottom) for _, bottom, _, top in boxes)
    size = sizes[len(sizes) // 2] if sizes else 0.0
    # Few files tell the weight of a letter otherwise than by the name of its font.
    fonts: list[bytes] = []
    for place in samples:
        name = ctypes.create_string_buffer(_LONGEST_FONT_NAME)
        library.FPDFText_GetFontInfo(words, place, name, _LONGEST_FONT_NAME, ctypes.c_int())
        fonts.append(name.value)
    return _Line(line, size, emphatic=bool(fonts) and all(map(_EMPHASIS.search, fonts)))


def render_page(page: Any) -> bytes:
    """Return a page as a grey picture in the format PGM."""
    width, height = page.get_size()
    scale = min(_DPI / _POINTS, (_MAX_PIXELS / max(width * height, 1)) ** 0.5)
    picture = page.render(scale=scale, grayscale=True)
    rows = memoryview(picture.buffer).cast("B")
    lines = (
        rows[start : start + picture.width]
        for start in range(0, picture.stride * picture.height, picture.stride)
    )
    head = f"P5 {picture.width} {picture.height} 255\n".encode()
    return head + b"".join(lines)


def _read_headings(document: Any) -> _Headings:
    """Return the levels of the outline's titles, by page and the words of the title."""
    headings: _Headings = {}
    for entry in document.get_toc():
        target = entry.get_dest()
        place = target.get_index() if target else None
        if place is not None and (name := _fold_title(entry.get_title())):
            headings.setdefault((place + 1, name), entry.level)
        if len(headings) == _MAX_HEADINGS:
            break
    return headings


def _page_blocks(pages: _Pages, headings: _Headings) -> Iterator[Heading | Block]:
    """Yield paragraphs and notes; a line that is a title of the outline is a heading."""
    heights: Counter[float] = Counter()  # of letters
    for line in chain.from_iterable(pages.lines):
        heights[round(line.size, 1)] += len(line)
    body = max(heights, key=lambda size: heights[size], default=0.0)
    for page, lines in enumerate(without_running_titles(pages.lines), start=1):
        seen = page in pages.recognised
        below: list[_Line] = []
        for line in without_contents(lines):
            level = headings.get((page, _fold_title(line))) if headings else None
            if level is None:
                below.append(line)
                continue
            yield from _build_blocks(below, page, body, recognised=seen)
            yield Heading(text=line.strip(), level=level, page=page)
            below = []
        yield from _build_blocks(below, page, body, recognised=seen)


class _Note(Block):
    """A paragraph at the foot of a page or column, in small letters, that begins with its mark."""


def _build_blocks(
    lines: Sequence[_Line], page: int, body: float, *, recognised: bool
) -> Iterator[Block]:
    full = full_line(lines)
    for run in _split_runs(lines):
        large = run[0].size * _SMALL > body  # a title has lines of its own length
        small = 0 < run[0].size <= _SMALL * body
        kind = _Note if small and _NOTE.match(run[0]) else Block
        for text in join_paragraphs(run, full=None if large else full):
            yield kind(text=text, page=page, recognised=recognised)


def _split_runs(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Split lines where letters become larger, smaller or emphatic, as headings and notes do."""
    runs: list[list[_Line]] = []
    for line in lines:
        if runs and not _changes_style(runs[-1][-1], line):
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def _changes_style(line: _Line, following: _Line) -> bool:
    if not (line.strip() and following.strip() and line.size and following.size):
        return False
    smaller, larger = sorted((line.size, following.size))
    if smaller < _SMALL * larger:
        return True
    return line.emphatic != following.emphatic and not following.lstrip()[0].islower()


def _join_paragraphs(blocks: Iterator[Block]) -> list[Block]:
    """Join paragraphs that continue on the next page, or behind the notes below them."""
    paragraphs: list[Block] = []
    notes: list[Block] = []  # that stand below the last paragraph
    for block in blocks:
        if isinstance(block, _Note):
            notes.append(block)
        elif paragraphs and _is_continuation(paragraphs[-1], block, notes):
            last = paragraphs[-1]
            paragraphs[-1] = replace(
                last,
                text=f"{last.text} {block.text}",
                last_page=block.page,
                recognised=last.recognised or block.recognised,
            )
        else:
            paragraphs += [*notes, block]
            notes = []
    return [
        Block(
            text=each.text,
            headings=each.headings,
            page=each.page,
            last_page=each.last_page,
            recognised=each.recognised,
        )
        for each in (*paragraphs, *notes)
    ]


def _is_continuation(block: Block, other: Block, notes: Sequence[Block]) -> bool:
    if block.headings != other.headings or SENTENCE_END.search(block.text):
        return False
    first, last = other.text[0], block.last_page or block.page or 0
    if notes:  # in scripts without small letters nothing else tells
        goes_on = first.isalpha() and not first.isupper()
        return goes_on and other.page in (last, last + 1)
    return first.islower() and other.page == last + 1


def _fold_title(text: str) -> str:
    return _PUNCTUATION.sub(" ", text).strip().casefold()


def _parse_pdf_date(text: str) -> datetime | None:
    match = _DATE.match(text)
    if not match:
        return None
    year, month, day, hour, minute, second, zone, zone_minutes = match.groups()
    clock = f"{hour or '00'}:{minute or '00'}:{second or '00'}"
    offset = f"{zone}:{zone_minutes or '00'}" if zone else "+00:00"
    try:
        return said_date(
            datetime.fromisoformat(f"{year}-{month or '01'}-{day or '01'}T{clock}{offset}")
        )
    except (ValueError, RecordError):
        return None

"""What a parser finds in a document, and the faults that all parsers report alike."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.errors import RecordError
from engine.ingest.dates import written_at
from engine.messages import Message
from engine.text.chunks import Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The text of a document, and what it says about itself; None = it does not say."""

    blocks: Sequence[Block]
    title: str | None = None
    author: str | None = None
    date: datetime | None = None
    language: str | None = None
    url: str | None = None
    pages: int | None = None  # None = the format has no pages
    unread: Message | None = None  # which pages could not be read, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading; level 1 is the outermost."""

    text: str
    level: int
    page: int | None = None


def under_headings(parts: Iterable[Heading | Block]) -> Iterator[Block]:
    """Yield the paragraphs with the headings above them.

    A heading with nothing below it becomes a paragraph.
    """
    above: list[Heading] = []
    bare = False  # nothing stands below the last heading yet
    for part in parts:
        if isinstance(part, Block):
            yield replace(part, headings=tuple(each.text for each in above))
            bare = False
            continue
        if bare and part.level <= above[-1].level:
            yield _as_paragraph(above)
        above = [each for each in above if each.level < part.level] + [part]
        bare = True
    if bare:
        yield _as_paragraph(above)


def _as_paragraph(above: Sequence[Heading]) -> Block:
    last = above[-1]
    return Block(text=last.text, headings=tuple(each.text for each in above[:-1]), page=last.page)


def is_protected() -> RecordError:
    """Return the error for a file that opens with a password alone."""
    return RecordError(Message("it is protected by a password"))


def is_damaged() -> RecordError:
    """Return the error for a file that has its format's signature but cannot be read."""
    return RecordError(Message("it is damaged or cut off"))


def says_nothing() -> RecordError:
    """Return the error for a file without any text."""
    return RecordError(Message("it holds no text"))


def needs_extra() -> RecordError:
    """Return the error for a format whose library is not installed."""
    return RecordError(
        Message("reading it needs: pip install 'presagio[{extra}]'", extra="documents")
    )


def said_date(moment: datetime | None) -> datetime | None:
    """Return the date that a document gives itself, or None if no document can have it."""
    try:
        return written_at(moment) if moment else None
    except RecordError:
        return None

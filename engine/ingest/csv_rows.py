"""Parses CSV rows with their line numbers, and reports what is wrong in each."""

import csv
import io
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from engine.errors import InputError
from engine.ingest.records import (
    Reject,
    TableLayout,
)
from engine.ingest.streams import (
    Piece,
    decode_stream,
    raw_lines,
)
from engine.ingest.table_cells import fit_row
from engine.messages import Message

Row = tuple[int, dict[str, object], bytes]
_DELIMITER_LINE = re.compile(rb"sep=.\s*$", re.IGNORECASE)


def csv_rows(
    label: str,
    stream: io.BufferedReader,
    *,
    is_header: Callable[[Sequence[str]], bool],
    expected: str,
    escape: Callable[[Sequence[str]], str | None] = lambda _: None,
) -> Generator[Row | Reject]:
    """Yield `(line, values by column, bytes)` for each row; the digest is made from the bytes.

    `expected` says what the header must name, and `escape` what a header lets quotes be escaped
    with. Raises InputError if there is no header.
    """
    feed = _Lines(stream)
    header = _read_header(csv.reader(feed), is_header)
    if header is None:
        raise InputError(
            Message("{label} does not begin with the columns of the archive.", label=label),
            fix=Message("The first line must name {expected}.", expected=expected),
        )
    yield from _body_rows(label, feed, csv.reader(feed, escapechar=escape(header)), header)


def table_rows(
    label: str, stream: io.BufferedReader, layout: TableLayout
) -> Generator[Row | Reject]:
    """Yield the same for a table that is read as `layout` says."""
    feed = _Lines(decode_stream(stream, layout.encoding))
    rows = csv.reader(feed, delimiter=layout.delimiter)
    feed.skip_delimiter_line()
    if layout.has_header:
        with suppress(csv.Error):
            next((row for row in rows if [cell.strip() for cell in row] == [*layout.names]), None)
    yield from _body_rows(label, feed, rows, layout.names, fit=lambda row: fit_row(row, layout))


def _body_rows(
    label: str,
    feed: "_Lines",
    rows: Iterator[list[str]],
    names: Sequence[str],
    *,
    fit: Callable[[Sequence[str]], Sequence[str]] = lambda row: row,
) -> Generator[Row | Reject]:
    while True:
        first, feed.problem = feed.number + 1, None
        try:
            row = fit(next(rows))
        except StopIteration:
            return
        except csv.Error as exc:
            yield Reject(file=label, line=first, reason=f"not valid CSV: {exc}")
            continue
        if feed.problem:
            yield Reject(file=label, line=first, reason=feed.problem)
        elif not any(cell.strip() for cell in row):
            continue  # spreadsheets write their empty rows, too
        elif len(row) == len(names):
            value: dict[str, object] = dict(zip(names, row, strict=True))
            yield first, value, "\x1f".join(row).encode()
        else:
            reason = f"{len(row)} columns where the first line names {len(names)}"
            if len(row) > len(names):
                reason += '; a text that holds the sign between columns stands in quotes: "a, b"'
            yield Reject(file=label, line=first, reason=reason)


def first_row(head: bytes) -> Sequence[str]:
    """Return the columns that the first line of a file names; none if it is not CSV."""
    line, _, _ = head.lstrip()[:4096].partition(b"\n")
    try:
        return next(csv.reader([line.decode("utf-8", "replace")]), [])
    except csv.Error:  # a lone carriage return, as in any binary file
        return []


class _Lines:
    """Decoded lines for the csv module; keeps track of the line number and of decoding errors."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._lines: Iterator[Piece] = raw_lines(stream)
        self.number = 0
        self.problem: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def skip_delimiter_line(self) -> None:
        """Skip the line "sep=;" with which Excel begins some files."""
        first = next(self._lines, None)
        if first is not None and not _DELIMITER_LINE.match(first[1]):
            self._lines = chain((first,), self._lines)
        elif first is not None:
            self.number = first[0]

    def __next__(self) -> str:
        self.number, raw, problem = next(self._lines)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text, problem = raw.decode("utf-8", "replace"), "invalid UTF-8"
        self.problem = self.problem or problem
        return text


def _read_header(
    rows: Iterator[list[str]], is_header: Callable[[Sequence[str]], bool]
) -> list[str] | None:
    try:
        first = next((row for row in rows if row), [])
    except csv.Error:
        return None
    columns = [column.removeprefix("\ufeff").strip() for column in first]
    return columns if is_header(columns) else None

"""Reads the rows of a CSV file, each with its line; a damaged row does not hide the others."""

import csv
import io
from collections.abc import Callable, Generator, Iterator, Sequence

from engine.errors import InputError
from engine.ingest.pieces import raw_lines
from engine.ingest.records import Reject
from engine.messages import Message

Row = tuple[int, dict[str, object], bytes]


def csv_rows(
    label: str,
    stream: io.BufferedReader,
    *,
    is_header: Callable[[Sequence[str]], bool],
    expected: str,
    escape: str | None = None,
) -> Generator[Row | Reject]:
    """Yield `(line, values by column, bytes)` for each row; the digest is made from the bytes.

    `expected` says what the header must name. Raises InputError if there is no header.
    """
    feed = _Lines(stream)
    rows = csv.reader(feed, escapechar=escape)
    header = _header(rows, is_header)
    if header is None:
        raise InputError(
            Message("{label} does not begin with the columns of the archive.", label=label),
            fix=Message("The first line must name {expected}.", expected=expected),
        )
    while True:
        first, feed.problem = feed.number + 1, None
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as exc:
            yield Reject(file=label, line=first, reason=f"not valid CSV: {exc}")
            continue
        if feed.problem:
            yield Reject(file=label, line=first, reason=feed.problem)
        elif len(row) == len(header):
            value: dict[str, object] = dict(zip(header, row, strict=True))
            yield first, value, "\x1f".join(row).encode()
        elif row:
            reason = f"{len(row)} columns where the first line names {len(header)}"
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
        self._lines = raw_lines(stream)
        self.number = 0
        self.problem: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, raw, problem = next(self._lines)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text, problem = raw.decode("utf-8", "replace"), "invalid UTF-8"
        self.problem = self.problem or problem
        return text


def _header(
    rows: Iterator[list[str]], is_header: Callable[[Sequence[str]], bool]
) -> list[str] | None:
    try:
        first = next((row for row in rows if row), [])
    except csv.Error:
        return None
    columns = [column.removeprefix("\ufeff").strip() for column in first]
    return columns if is_header(columns) else None

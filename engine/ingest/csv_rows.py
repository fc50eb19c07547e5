"""Parses rows of CSV with their line numbers, says what is wrong in each, and reads their cells."""

import ast
import csv
import io
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from zoneinfo import ZoneInfo

import orjson

from engine.errors import InputError
from engine.ingest.fields import made_id, read_written_time
from engine.ingest.parsers.html import html_text
from engine.ingest.records import RawRecord, Reject, TableLayout
from engine.ingest.streams import Piece, decode_stream, raw_lines
from engine.messages import Message

_DELIMITER_LINE = re.compile(rb"sep=.\s*$", re.IGNORECASE)
RowMap = Mapping[str, object]
_THOUSANDS = re.compile(r"(\d{1,3}(?:[.,\u00a0\u202f' ]\d{3})+)(?:[.,]\d{1,2})?")
_DECIMAL = re.compile(r"(\d+)(?:[.,]\d*)?")
_SHORT = re.compile(r"(\d+)(?:[.,](\d))?\s?([KkMm])(?:il)?")
# What pandas and R make of an id.
_REWRITTEN_ID = re.compile(r"(\d{1,15})\.0|x(\d{5,19})")
_BYTES = re.compile(r"b(['\"]).*\1", re.DOTALL)  # as Python prints a text that was encoded
_WORDS = re.compile(r"[^\s,;'\"\[\](){}#]+")
_OWN_DEVICES = ("Twitter", "TweetDeck")
_NOTHING = frozenset(("", "0", "0.0", "f", "false", "no", "n", "none", "nan", "null", "{}", "[]"))
_POST_TYPE = re.compile(r"[a-z]{3,}(?:[_ ][a-z]+)?")
_REPOSTS = frozenset(("retweet", "retweeted", "repost", "reposted", "true", "yes", "rt"))
_PRINTED = re.compile(
    r"[{(,]\s?['\"]?(?:screen_?name|username|handle)['\"]?\s*[:=]\s*['\"]([^'\"]+)['\"]",
    re.IGNORECASE,
)
_QUOTES = frozenset(("quoted", "quote"))
_PAGE = re.compile(r"<p\b[^<>]{0,200}>.*</p>", re.DOTALL | re.IGNORECASE)
# Fields of our own that a table has under these names alone.
PLAIN_FIELDS = frozenset(("attachments", "participants"))


def csv_rows(
    label: str,
    stream: io.BufferedReader,
    *,
    is_header: Callable[[Sequence[str]], bool],
    expected: str,
    escape: Callable[[Sequence[str]], str | None],
) -> Generator[RawRecord | Reject]:
    """Yield the rows with their values by column.

    `expected` says what the header must name, and `escape` what a header lets quotes be escaped
    with. Raises InputError if there is no header.
    """
    feed = _Lines(stream)
    header: list[str] = []
    with suppress(csv.Error):
        first = next((row for row in csv.reader(feed) if row), [])
        header = [column.removeprefix("\ufeff").strip() for column in first]
    if not is_header(header):
        raise InputError(
            Message("{label} does not begin with the columns of the archive.", label=label),
            fix=Message("The first line must name {expected}.", expected=expected),
        )
    yield from _body_rows(label, feed, csv.reader(feed, escapechar=escape(header)), header)


def table_rows(
    label: str, stream: io.BufferedReader, layout: TableLayout
) -> Generator[RawRecord | Reject]:
    """Yield the same for a table that is read as `layout` says."""
    feed = _Lines(decode_stream(stream, layout.encoding))
    rows = csv.reader(feed, delimiter=layout.delimiter)
    feed.skip_delimiter_line()
    if layout.has_header:
        with suppress(csv.Error):
            next((row for row in rows if [cell.strip() for cell in row] == [*layout.names]), None)
    # `map` goes on after a row that is no CSV; a generator would be over.
    fitted = map(partial(fit_row, layout=layout), rows)
    yield from _body_rows(label, feed, fitted, layout.names)


def _body_rows(
    label: str, feed: "_Lines", rows: Iterator[Sequence[str]], names: Sequence[str]
) -> Generator[RawRecord | Reject]:
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
        elif not any(cell.strip() for cell in row):
            continue  # spreadsheets write their empty rows, too
        elif len(row) == len(names):
            value: dict[str, object] = dict(zip(names, row, strict=True))
            yield RawRecord(label, first, "line", "\x1f".join(row).encode(), value)
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


def fit_row(row: Sequence[str], layout: TableLayout) -> Sequence[str]:
    """Return a row of as many cells as there are columns: without a header, the rest is its end.

    Who writes two columns by hand puts no quotes around a text with commas.
    """
    width = len(layout.names)
    if layout.has_header or len(row) <= width:
        return row
    return [*row[: width - 1], layout.delimiter.join(row[width - 1 :])]


def read_cell(row: RowMap, layout: TableLayout, field: str) -> object:
    """Return what the columns of a field hold."""
    column = layout.columns.get(field, "")
    if column in row or "+" not in column:
        return row.get(column)
    return " ".join(str(row.get(part) or "") for part in column.split("+")).strip()


def translate_row(row: RowMap, layout: TableLayout) -> dict[str, object]:
    """Return a record with our fields, as JSON lines have them. Raises RecordError."""
    fields = {
        field: None if (cell := read_cell(row, layout, field)) == "NA" and field != "text" else cell
        for field in layout.columns
    }
    if str(fields.get("is_retweet")).strip().casefold() in _QUOTES:
        fields["is_quote"] = True
    fields |= {name: row[name] for name in row if name in PLAIN_FIELDS and name not in fields}
    for field in ("is_retweet", "is_quote"):
        if field in fields:
            fields[field] = says_so(fields[field])
    for field in ("favorites", "retweets"):
        fields[field] = read_count(fields.get(field))
    if isinstance(fields.get("tags"), str):
        fields["tags"] = _WORDS.findall(str(fields["tags"]))
    if "author" in fields:
        fields["author"] = _read_author(fields["author"])
    # What is cut stands beside the whole text, which not all rows have.
    fields["text"] = _read_text(fields.get("text") or row.get("text") or fields.get("title"))
    written = fields.get("created_at")
    zone = ZoneInfo(layout.timezone) if layout.timezone else None
    moment = read_written_time(written, zone=zone, is_day_first=layout.is_day_first)
    fields["created_at"] = moment.isoformat()
    if "id" not in layout.columns:
        parts = (fields.get(name) for name in ("text", "author", "url"))
        fields["id"] = made_id(str(written), *(str(part or "") for part in parts))
    elif isinstance(fields["id"], str) and (whole := _REWRITTEN_ID.fullmatch(fields["id"].strip())):
        fields["id"] = whole[1] or whole[2]
    return fields


def _read_author(value: object) -> object:
    """Return the name of an account that a cell holds, by itself, as an object, or as pandas prints
    an object."""
    if isinstance(value, Mapping):
        names = {str(name).replace("_", "").casefold(): value[name] for name in value}
        return names.get("username") or names.get("screenname") or names.get("name")
    printed = _PRINTED.search(value) if isinstance(value, str) else None
    return printed[1] if printed else value


def _read_text(value: object) -> object:
    """Return a text without what the program that wrote it put around it."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _BYTES.fullmatch(text):
        with suppress(ValueError, SyntaxError, TypeError):
            return bytes(ast.literal_eval(text)).decode("utf-8", "replace")
    if text.startswith('{"text":'):  # YouTube's pieces
        with suppress(ValueError, TypeError, LookupError):
            return "".join(str(piece["text"]) for piece in orjson.loads(f"[{text}]"))
    return html_text(text) if _PAGE.fullmatch(text) else text


def is_own_device(name: object) -> bool:
    """Return whether an app is X's own."""
    return isinstance(name, str) and name.startswith(_OWN_DEVICES)


def says_so(value: object) -> bool:
    """Return whether a column says that a post is a repost, or a quote.

    It holds a flag, the kind of the post, or the other post, if there is one.
    """
    if isinstance(value, str):
        word = value.strip().casefold()
        if _POST_TYPE.fullmatch(word):
            return says_repost(word)
        return word not in _NOTHING
    return bool(value)


def says_repost(value: object) -> bool:
    """Return whether a word for a kind of post is one for reposts."""
    return str(value).strip().casefold() in _REPOSTS


def read_count(value: object) -> object:
    """Return a number of likes that a spreadsheet wrote: 1.234, 1,234, 12.0, 1.2K."""
    if isinstance(value, float):
        return int(value) if abs(value) < 2**53 else 0
    if not isinstance(value, str):
        return value
    text = value.strip()
    if grouped := _THOUSANDS.fullmatch(text):
        return "".join(filter(str.isdigit, grouped[1]))
    if short := _SHORT.fullmatch(text):
        unit = 1_000 if short[3] in "kK" else 1_000_000
        return int(short[1]) * unit + int(short[2] or 0) * unit // 10
    match = _DECIMAL.fullmatch(text)
    return match[1] if match else text

"""The two generations of the best-known archive of one account, as JSON and as CSV.

    trumptwitterarchive.com  source, text, created_at, retweet_count, favorite_count,
                             is_retweet, id_str
    thetrumparchive.com      id, text, isRetweet, isDeleted, device, favorites, retweets, date

Times without a zone are UTC: the ids of tweets since November 2010 carry their own time
((id >> 22) + 1288834974657 milliseconds), and it agrees with the date columns to the second.
"""

import csv
import io
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

from engine.errors import InputError
from engine.ingest.dates import zoned_or_utc
from engine.ingest.fields import count, flag, text_of
from engine.ingest.pieces import raw_lines
from engine.ingest.reader import JsonObject, JsonReader, Sample
from engine.ingest.records import Defaults, Post, Reject, SourceRecord, fingerprint
from engine.ingest.sources import Source
from engine.ingest.tweets import device, tweet_id
from engine.types import Flag


class TrumpArchiveJsonReader(JsonReader):
    """Reads both JSON layouts."""

    name = "trump-archive-json"

    def fits(self, found: Mapping[str, object]) -> bool:
        newer = {"id", "text", "date", "isRetweet"} <= found.keys()
        older = {"id_str", "text", "created_at", "is_retweet"} <= found.keys()
        return newer or (older and "entities" not in found)

    def split(
        self, found: JsonObject, digest: Callable[[bytes], int]
    ) -> Generator[SourceRecord | Reject]:
        yield found.record(self.name, tweet_id(found.value), digest(found.raw))

    def post(self, payload: Mapping[str, object]) -> Post:
        return _post(payload)


class TrumpArchiveCsvReader:
    """Reads both CSV layouts; columns are found by their names."""

    name = "trump-archive-csv"

    def members(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - see Reader
        return ()

    def recognises(self, sample: Sample) -> bool:
        header, _, _ = sample.head.lstrip()[:4096].partition(b"\n")
        try:
            return _is_header(next(csv.reader([header.decode("utf-8", "replace")]), []))
        except csv.Error:  # a lone carriage return, as in any binary file
            return False

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        digest = fingerprint(defaults, self.name)
        for name in names:
            with source.open(name) as stream:
                yield from _rows(source.label(name), stream, digest)

    def post(self, payload: Mapping[str, object]) -> Post:
        return _post(payload)


def _is_header(row: Sequence[str]) -> bool:
    columns = set(row)
    return "text" in columns and bool(
        {"id", "isRetweet", "date"} <= columns or {"id_str", "is_retweet", "created_at"} <= columns
    )


def _post(row: Mapping[str, object]) -> Post:
    flags = Flag.NONE
    if flag(row.get("isRetweet", row.get("is_retweet")), "the repost flag"):
        flags |= Flag.REPOST
    if flag(row.get("isDeleted"), "isDeleted"):
        flags |= Flag.DELETED
    when = row.get("date", row.get("created_at"))
    likes = row.get("favorites", row.get("favorite_count"))
    reposts = row.get("retweets", row.get("retweet_count"))
    return Post(
        text=text_of(row.get("text")),
        created_at=zoned_or_utc(when),
        engagement=count(likes) + count(reposts),
        flags=flags,
        device=device(row.get("device", row.get("source"))),
    )


class _Lines:
    """Decoded lines for the csv module, remembering where it is and what it met."""

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


def _rows(
    label: str, stream: io.BufferedReader, digest: Callable[[bytes], int]
) -> Generator[SourceRecord | Reject]:
    feed = _Lines(stream)
    rows = csv.reader(feed)
    try:
        first_row = next((row for row in rows if row), [])
    except csv.Error:
        first_row = []
    header = [column.removeprefix("\ufeff").strip() for column in first_row]
    if not _is_header(header):
        raise InputError(
            f"{label} does not begin with the columns of the archive.",
            fix="The first line must name id, text, isRetweet and date.",
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
        elif row:
            yield _record(label, first, header, row, digest)


def _record(
    label: str, line: int, header: list[str], row: list[str], digest: Callable[[bytes], int]
) -> SourceRecord | Reject:
    if len(row) != len(header):
        reason = f"{len(row)} columns where the first line names {len(header)}"
        return Reject(file=label, line=line, reason=reason)
    value: dict[str, object] = dict(zip(header, row, strict=True))
    found = JsonObject(label, line, "line", "\x1f".join(row).encode(), value)
    return found.record("trump-archive-csv", tweet_id(value), digest(found.raw))

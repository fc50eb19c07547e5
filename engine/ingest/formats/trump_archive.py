"""Reads both generations of the best-known archive of one account, as JSON and as CSV.

trumptwitterarchive.com  source, text, created_at, retweet_count, favorite_count,
                         is_retweet, id_str
thetrumparchive.com      id, text, isRetweet, isDeleted, device, favorites, retweets, date

Times without a zone are UTC: the ids of tweets since November 2010 contain their time ((id >> 22) +
1288834974657 milliseconds), and it agrees with the date columns to the second.
"""

from collections.abc import Callable, Generator, Mapping, Sequence

from engine.ingest.dates import zoned_or_utc
from engine.ingest.fields import count, flag, text_of
from engine.ingest.formats.csv_rows import Row, csv_rows, first_row
from engine.ingest.formats.tweets import device, tweet_id
from engine.ingest.reader import JsonObject, JsonReader, Sample
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, fingerprint
from engine.ingest.sources import Source
from engine.types import Flag, Kind


class TrumpArchiveJsonReader(JsonReader):
    """Reads both JSON layouts."""

    name = "trump-archive-json"
    kinds = (Kind.TWEETS, Kind.SOCIAL)

    def fits(self, found: Mapping[str, object]) -> bool:
        newer = {"id", "text", "date", "isRetweet"} <= found.keys()
        older = {"id_str", "text", "created_at", "is_retweet"} <= found.keys()
        return newer or (older and "entities" not in found)

    def split(
        self, found: JsonObject, digest: Callable[[bytes], int]
    ) -> Generator[SourceRecord | Reject]:
        yield found.record(self.name, tweet_id(found.value), digest(found.raw))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        return _post(payload)


class TrumpArchiveCsvReader:
    """Reads both CSV layouts; columns are found by their names."""

    name = "trump-archive-csv"
    kinds = (Kind.TWEETS, Kind.SOCIAL)

    def members(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - see Reader
        return ()

    def recognises(self, sample: Sample) -> bool:
        return _is_header(first_row(sample.head))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        digest = fingerprint(defaults, self.name)
        for name in names:
            with source.open(name) as stream:
                label = source.label(name)
                columns = "id, text, isRetweet and date"
                for row in csv_rows(label, stream, is_header=_is_header, expected=columns):
                    yield _record(label, row, digest)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        return _post(payload)


def _is_header(row: Sequence[str]) -> bool:
    columns = set(row)
    return "text" in columns and bool(
        {"id", "isRetweet", "date"} <= columns or {"id_str", "is_retweet", "created_at"} <= columns
    )


def _post(row: Mapping[str, object]) -> PostFields:
    flags = Flag.NONE
    if flag(row.get("isRetweet", row.get("is_retweet")), "the repost flag"):
        flags |= Flag.REPOST
    if flag(row.get("isDeleted"), "isDeleted"):
        flags |= Flag.DELETED
    when = row.get("date", row.get("created_at"))
    likes = row.get("favorites", row.get("favorite_count"))
    reposts = row.get("retweets", row.get("retweet_count"))
    return PostFields(
        text=text_of(row.get("text")),
        created_at=zoned_or_utc(when),
        platform="x",
        engagement=count(likes) + count(reposts),
        flags=flags,
        device=device(row.get("device", row.get("source"))),
    )


def _record(label: str, row: Row | Reject, digest: Callable[[bytes], int]) -> SourceRecord | Reject:
    if isinstance(row, Reject):
        return row
    line, value, raw = row
    found = JsonObject(label, line, "line", raw, value)
    return found.record(TrumpArchiveCsvReader.name, tweet_id(value), digest(raw))

"""Reads the plain format: one object per line (or one array), with the fields of a document.

A CSV whose first line names these fields is read as well; it holds no lists.

{"id": "1", "text": "...", "created_at": "2009-05-04T18:54:25+00:00"}

and optionally lang, author, title, role, url, in_reply_to, platform, thread, attribution,
favorites, retweets, device, is_retweet, is_quote, is_deleted, and the lists tags, attachments
(names of files) and participants. Without `platform` it is "x" if id and date show that.
`in_reply_to` is the id of the message being answered; a screen name there (some exports have one)
only marks the document as a reply. Without `tags` they are the hashtags of the text.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime

from engine.ingest.dates import count, flag, identifier, read_zoned_time, string, strings, text_of
from engine.ingest.formats.tweets import is_from_x
from engine.ingest.parsers.parsed import article_blocks
from engine.ingest.reader import CsvReader, JsonObject, JsonReader, Reader
from engine.ingest.records import PostFields, Reject, SourceRecord
from engine.values import Flag, Kind

_FLAGS = {"is_retweet": Flag.REPOST, "is_quote": Flag.QUOTE, "is_deleted": Flag.DELETED}

# Fields that a record must have.
_NEEDED = frozenset({"id", "text", "created_at"})
# Lists that were not read at first: records with any of them are stored again.
_LISTS = ("tags", "attachments", "participants")


class JsonlReader(JsonReader):
    """Reads the project's own exchange format."""

    name = "jsonl"
    kinds = tuple(Kind)  # tweets first

    def fits(self, found: Mapping[str, object]) -> bool:
        return found.keys() >= _NEEDED

    def split(
        self, found: JsonObject, digest: Callable[[bytes], int]
    ) -> Generator[SourceRecord | Reject]:
        lists = b"lists" if any(found.value.get(name) for name in _LISTS) else b""
        yield found.record(self.name, found.value.get("id"), digest(found.raw + lists))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        answered = identifier(payload.get("in_reply_to"))
        flags = Flag.NONE
        for name, meaning in _FLAGS.items():
            if flag(payload.get(name), name):
                flags |= meaning
        if answered:
            flags |= Flag.REPLY
        title, text = string(payload.get("title")), text_of(payload.get("text"))
        created_at = read_zoned_time(payload.get("created_at"))
        return PostFields(
            text=text,
            blocks=article_blocks(text) if title else None,
            created_at=created_at,
            author=string(payload.get("author")),
            title=title,
            role=string(payload.get("role")),
            lang=string(payload.get("lang")),
            url=string(payload.get("url")),
            reply_to=None if _is_name(answered, payload.get("id")) else answered,
            platform=string(payload.get("platform")) or _platform(payload, created_at),
            thread=string(payload.get("thread")),
            attribution=string(payload.get("attribution")),
            tags=tuple(strings(payload.get("tags"))) or None,
            engagement=count(payload.get("favorites")) + count(payload.get("retweets")),
            flags=flags,
            device=string(payload.get("device")),
            meta={name: strings(payload.get(name)) for name in ("attachments", "participants")},
        )


class JsonlCsvReader(CsvReader):
    """Reads the same fields from the columns of a CSV."""

    name = "csv"
    kinds = JsonlReader.kinds
    columns = "id, text and created_at"

    def is_header(self, row: Sequence[str]) -> bool:
        return {column.strip() for column in row} >= _NEEDED

    def post(self, payload: Mapping[str, object]) -> PostFields:
        return JsonlReader().post(payload)


def _is_name(answered: str | None, own: object) -> bool:
    """Tell a screen name from an id: if a record's own id is a number, the others are, too."""
    return answered is not None and str(own).isdigit() and not answered.isdigit()


def _platform(payload: Mapping[str, object], created_at: datetime) -> str | None:
    post_id, sent_by = identifier(payload.get("id")), string(payload.get("device"))
    return "x" if post_id and is_from_x(post_id, created_at, sent_by) else None


READERS: tuple[Reader, ...] = (JsonlReader(), JsonlCsvReader())

"""A blog as RSS or Atom: its feed, or what WordPress and others export in that form.

The file is parsed as a whole: it is read into memory. Drafts that an export holds without a date
are refused.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import orjson

from engine.errors import FeedUnreadable, InputError
from engine.ingest.addresses import host_of
from engine.ingest.dates import zoned
from engine.ingest.fields import string, strings, text_of
from engine.ingest.reader import JsonObject, Sample
from engine.ingest.records import Defaults, Post, Reject, SourceRecord, fingerprint
from engine.ingest.sources import Source
from engine.types import Kind

LARGEST = 64_000_000  # bytes; 2 MB take half a second


class BlogFeedReader:
    """Reads the entries of a feed with their whole text."""

    name = "feed"
    kinds = (Kind.PUBLISHED, Kind.LIBRARY)

    def members(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - see Reader
        return ()  # a folder of feeds is no export that anybody makes

    def recognises(self, sample: Sample) -> bool:
        head = sample.head[:4096]
        return head.lstrip().startswith(b"<") and any(
            root in head for root in (b"<rss", b"<feed", b"<rdf:RDF")
        )

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        digest = fingerprint(defaults, self.name)
        for name in names:
            label, file = source.label(name), source.citation(name)
            with source.open(name) as stream:
                content = stream.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise InputError(f"{label} is longer than {LARGEST:,} bytes.", fix="Split it.")
            for number, entry in enumerate(_entries(label, content), start=1):
                raw = orjson.dumps(entry)
                found = JsonObject(label, number, "record", raw, {**entry, "file": file})
                yield found.record(self.name, entry["id"], digest(raw))

    def post(self, payload: Mapping[str, object]) -> Post:
        title, url = string(payload.get("title")), string(payload.get("url"))
        body = string(payload.get("text")) or title
        return Post(
            text=text_of(body),
            searched=f"{title}\n\n{body}" if title != body else None,
            created_at=zoned(payload.get("published")),
            author=string(payload.get("author")),
            title=title,
            lang=string(payload.get("lang")),
            url=url,
            platform="web",
            attribution=f"{payload.get('file')}#{payload.get('id')}",
            tags=tuple(strings(payload.get("tags"))),
            mentions=(),
            meta={"domain": host_of(url)},
        )


def _entries(label: str, content: bytes) -> Sequence[dict[str, Any]]:
    # Imported here: reading feeds takes long to load, and most exports are none.
    from engine.ingest.blog_entries import blog_entries  # noqa: PLC0415 - see above

    try:
        return blog_entries(content)
    except FeedUnreadable as exc:
        raise InputError(f"{label} cannot be read: {exc.message}", fix=exc.fix) from exc

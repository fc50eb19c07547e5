"""Reads sources whole, for tests."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import orjson

from engine.corpora import Document
from engine.errors import RecordError
from engine.ingest.exports import list_exports
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, Reject, SourceRecord, SourceRequest

TWEET = {
    "id_str": "1131393056299786240",
    "id": 1131393056299786240,
    "created_at": "Thu May 23 02:54:59 +0000 2019",
    "full_text": "Open &amp; shut",
    "entities": {"hashtags": [], "urls": [], "user_mentions": []},
    "lang": "en",
}


def records(
    source: Path | bytes, *, form: str = "auto", defaults: Defaults | None = None
) -> tuple[list[SourceRecord], list[Reject]]:
    """Return what a path, or bytes on standard input, holds."""
    found: list[SourceRecord | Reject] = []
    stdin = io.BytesIO(source) if isinstance(source, bytes) else None
    request = SourceRequest("-" if stdin else str(source), form, defaults or Defaults())
    for part in list_exports(request).exports:
        with open_source(part, stdin=stdin) as stream:
            found += stream
    good = [item for item in found if isinstance(item, SourceRecord)]
    return good, [item for item in found if isinstance(item, Reject)]


def documents(
    source: Path | bytes, *, form: str = "auto", defaults: Defaults | None = None
) -> tuple[list[Document], list[Reject]]:
    """Return the documents of a source, and the rejects of reading and normalising."""
    good, rejects = records(source, form=form, defaults=defaults)
    stored = []
    for record in good:
        try:
            stored.append(normalise(record, defaults or Defaults()))
        except RecordError as exc:
            rejects.append(record.reject(str(exc)))
    return stored, rejects


def accepted(
    source: Path | bytes, *, form: str = "auto", defaults: Defaults | None = None
) -> list[Document]:
    """Return the documents of a source of which nothing is rejected."""
    stored, rejects = documents(source, form=form, defaults=defaults)
    assert rejects == []
    return stored


def one(value: object, *, form: str = "auto", defaults: Defaults | None = None) -> Document:
    (document,) = accepted(orjson.dumps(value), form=form, defaults=defaults)
    return document


def reason(value: object, *, form: str = "auto") -> str:
    stored, rejects = documents(orjson.dumps(value), form=form)
    assert stored == []
    (reject,) = rejects
    return reject.reason


def table(*rows: Mapping[str, object], columns: Sequence[str] = ()) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns or list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def javascript(variable: str, items: list[object]) -> bytes:
    return f"{variable} = ".encode() + orjson.dumps(items, option=orjson.OPT_INDENT_2)


def moment_of(document: Document) -> datetime:
    """Return when a document that has a date was written."""
    assert document.created_at is not None
    return document.created_at

"""Serialises documents to exported records (JSON Lines, CSV), and reads them back unchanged.

Records have the fields of the plain format, which other programs read, and what it lacks.
`presagio` marks them: their texts are taken as they stand, and nothing is derived from them.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import orjson

from engine.corpora import Document, Part
from engine.errors import RecordError
from engine.ingest.fields import (
    as_mapping,
    read_mappings,
    read_number,
    read_string,
    read_strings,
    read_zoned_time,
)
from engine.ingest.records import SourceRecord
from engine.messages import Message
from engine.text.clean import guard_cell, make_searchable, make_storable, unguard_cell
from engine.values import DateKind, Flag, Kind

MARK, VERSION = "presagio", 1
COLUMNS = (
    *(MARK, "kind", "id", "created_at", "author", "text", "url", "favorites", "title", "role"),
    *("lang", "in_reply_to", "platform", "thread", "attribution", "device", "dated_by"),
    *("is_retweet", "is_quote", "is_deleted", "flags", "tags", "mentions", "attachments"),
    *("participants", "meta", "searched", "parts", "pages", "page_labels", "guarded"),
)
LONGEST_CELL = 131_072  # characters, which readers of CSV stop at
_LISTS = ("attachments", "participants")
_AS_JSON = ("flags", "tags", "mentions", *_LISTS, "meta", "parts", "page_labels")
_NUMBERS = ("favorites", "pages")
_BEGINNING = re.compile(rb'\s*+(?:\[\s*+)?\{"presagio":1,"kind":"([a-z]+)"')
_LANGUAGE = re.compile(r"[a-z]{2}")


def kind_at(head: bytes) -> str:
    """Return the kind that the first record of an exported file names, or ""."""
    match = _BEGINNING.match(head)
    return match[1].decode() if match else ""


def is_exported(record: Mapping[str, object]) -> bool:
    """Return whether a record is one that `record_of` made."""
    return str(record.get(MARK)) == str(VERSION)


def record_of(document: Document, kind: Kind) -> dict[str, object]:
    """Return the record of a document, without what is empty."""
    parts = [(part, _search_text(document, part)) for part in document.parts]
    fields = {
        MARK: VERSION,
        "kind": kind.value,
        "id": document.external_id,
        "created_at": document.created_at.isoformat() if document.created_at else None,
        "author": document.author,
        "text": document.text,
        "url": document.url,
        "favorites": document.engagement,
        "title": document.title,
        "role": document.role,
        "lang": document.lang,
        "in_reply_to": document.reply_to,
        "platform": document.platform,
        "thread": document.thread,
        "attribution": document.attribution,
        "dated_by": document.dated_by,
        "is_retweet": Flag.REPOST in document.flags,
        "is_quote": Flag.QUOTE in document.flags,
        "is_deleted": Flag.DELETED in document.flags,
        "flags": list(document.flags.names),
        "tags": list(document.tags),
        "mentions": list(document.mentions),
        **{name: document.meta[name] for name in ("device", *_LISTS) if name in document.meta},
        "meta": {
            name: value for name, value in document.meta.items() if name not in {"device", *_LISTS}
        },
        "searched": (
            None
            if document.parts
            else _differing_search_text(document.search_text, make_searchable(document.text))
        ),
        "parts": [_part_record(part, search_text) for part, search_text in parts],
        "pages": document.pages,
        "page_labels": list(document.page_labels),
    }
    needed = {"id", "text", "created_at", MARK}
    return {name: value for name, value in fields.items() if name in needed or value}


def _search_text(document: Document, part: Part) -> str:
    """Return the search text that a part has unless something else was added to it."""
    return make_searchable("\n".join(filter(None, (document.title, part.heading, part.text))))


def _differing_search_text(stored: str, made: str) -> str | None:
    """Return the search text if it is not the one that is made; a blank for none at all."""
    return None if stored == made else stored or " "


def _read_search(search_text: object, made: str) -> str:
    return (
        make_storable(search_text).strip() if isinstance(search_text, str) and search_text else made
    )


def _part_record(part: Part, search_text: str) -> dict[str, object]:
    fields = {
        "text": part.text,
        "heading": part.heading,
        "page": part.page,
        "last_page": part.last_page,
        "recognised": part.recognised,
        "searched": _differing_search_text(part.search_text, search_text),
    }
    return {name: value for name, value in fields.items() if value or name == "text"}


def cells_of(record: Mapping[str, object]) -> list[str]:
    """Return the cells of a record in COLUMNS; "guarded" names those that got a quote.

    Raises RecordError for a record that no CSV can hold.
    """
    values = {
        name: orjson.dumps(record[name]).decode() if name in _AS_JSON else record[name]
        for name in COLUMNS
        if name in record and record[name] is not None
    }
    cells = {name: guard_cell(value) for name, value in values.items()}
    guarded = [name for name, cell in cells.items() if cell != str(values[name])]
    cells["guarded"] = " ".join(guarded)
    if any(len(cell) >= LONGEST_CELL for cell in cells.values()):
        raise RecordError(
            Message("{name} is too long for a CSV.", name=str(record["id"])),
            fix=Message("Export it as JSON lines: --format jsonl."),
        )
    return [cells.get(name, "") for name in COLUMNS]


def read_cells(row: Mapping[str, object]) -> dict[str, object]:
    """Return the record of a row that `cells_of` made. Raises RecordError."""
    cells = {name: cell for name, cell in row.items() if isinstance(cell, str) and cell}
    for name in cells.pop("guarded", "").split():
        cells[name] = unguard_cell(cells.get(name, ""))
    try:
        lists = {name: orjson.loads(cells[name]) for name in _AS_JSON if name in cells}
    except orjson.JSONDecodeError as exc:
        raise RecordError(
            Message("a list in this row is not valid JSON; leave the cells as they were exported")
        ) from exc
    numbers = {name: read_number(cells[name]) for name in _NUMBERS if name in cells}
    return {"text": "", "created_at": None, **cells, **numbers, **lists}


def read_exported(record: SourceRecord) -> Document:
    """Return the document of an exported record. Raises RecordError."""
    payload = record.payload
    meta = {
        **{name: payload[name] for name in ("device", *_LISTS) if payload.get(name)},
        **as_mapping(payload.get("meta")),
    }
    flags = read_strings(payload.get("flags"))
    title, text = _read_text(payload.get("title")), make_storable(str(payload.get("text") or ""))
    language = _read_text(payload.get("lang"))
    document = Document(
        external_id=record.external_id,
        text=text,
        search_text=_read_search(payload.get("searched"), make_searchable(text)),
        created_at=_read_moment(payload.get("created_at")),
        dated_by=_date_kind(payload.get("dated_by")),
        digest=record.digest,
        author=_read_text(payload.get("author")),
        title=title,
        role=_read_text(payload.get("role")),
        lang=language if language and _LANGUAGE.fullmatch(language) else None,
        url=_read_text(payload.get("url")),
        reply_to=_read_text(payload.get("in_reply_to")),
        platform=_read_text(payload.get("platform")),
        thread=_read_text(payload.get("thread")),
        attribution=_read_text(payload.get("attribution")),
        tags=tuple(map(make_storable, read_strings(payload.get("tags")))),
        mentions=tuple(map(make_storable, read_strings(payload.get("mentions")))),
        engagement=read_number(payload.get("favorites")) + read_number(payload.get("retweets")),
        # Stitching adds that of threads again.
        flags=Flag.of(*((flag, str(flag.name).lower() in flags) for flag in Flag)) & ~Flag.THREAD,
        meta={
            name: value
            for key, given in meta.items()
            if (value := _clean_json_value(given)) and (name := make_storable(key))
        },
        pages=read_number(payload.get("pages")) or None,
        page_labels=tuple(map(make_storable, read_strings(payload.get("page_labels")))),
    )
    parts = tuple(_read_part(document, part) for part in read_mappings(payload.get("parts")))
    if not parts and not text.strip():
        raise RecordError(Message("the text is empty"))
    return replace(document, parts=parts, search_text="" if parts else document.search_text)


def _read_part(document: Document, fields: Mapping[str, object]) -> Part:
    part = Part(
        text=make_storable(str(fields.get("text") or "")),
        search_text="",
        heading=_read_text(fields.get("heading")),
        page=read_number(fields.get("page")) or None,
        last_page=read_number(fields.get("last_page")) or None,
        recognised=fields.get("recognised") is True,
    )
    made = _search_text(document, part)
    return replace(part, search_text=_read_search(fields.get("searched"), made))


def _read_moment(value: object) -> datetime | None:
    return None if value is None else read_zoned_time(value)


def _date_kind(value: object) -> DateKind | None:
    return next((kind for kind in DateKind if kind.value == value), None)


def _read_text(value: object) -> str | None:
    text = read_string(value)
    return make_storable(text) or None if text else None


def _clean_json_value(value: object) -> object:
    """Return a value of JSON without what the database cannot hold."""
    if isinstance(value, str):
        return make_storable(value)
    if isinstance(value, list):
        return [_clean_json_value(item) for item in value]
    if isinstance(value, dict):
        return {make_storable(str(name)): _clean_json_value(item) for name, item in value.items()}
    return value

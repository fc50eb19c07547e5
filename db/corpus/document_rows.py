"""Turns documents into rows: of whole documents, of their parts, and of the items of those."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import orjson

from db.corpus.languages import language_of
from engine.documents import Document, part_id
from engine.types import Corpus, Flag

COLUMNS = (
    "external_id", "text", "search_text", "created_at", "digest", "author", "title", "role",
    "lang", "language", "url", "reply_to",
    "platform", "thread_id", "attribution", "tags", "mentions", "engagement", "flags", "meta",
    "item", "part", "heading", "page", "last_page",
)  # fmt: skip
ITEM_COLUMNS = (
    "external_id", "digest", "created_at", "title", "author", "lang", "url", "attribution",
    "platform", "pages", "parts",
)  # fmt: skip


def document_rows(
    document: Document, corpus: Corpus, known: frozenset[str]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a document in COLUMNS: one, or one for each of its parts."""
    if not document.parts:
        yield (*_record(document, corpus, known), None, None, None, None, None)
        return
    for number, part in enumerate(document.parts, start=1):
        row = replace(
            document,
            external_id=part_id(document.external_id, number),
            text=part.text,
            search_text=part.search_text,
            attribution=_attribution(document.attribution, part.page),
            digest=0,
            flags=document.flags | (Flag.RECOGNISED if part.recognised else Flag.NONE),
        )
        place = (document.external_id, number, part.heading, part.page, part.last_page)
        whole = (*_record(row, corpus, known), *place)
        yield _record(replace(row, digest=_digest(whole)), corpus, known) + place


def _attribution(whole: str | None, page: int | None) -> str | None:
    return f"{whole}#page={page}" if whole and page else whole


def _digest(row: tuple[object, ...]) -> int:
    """Return a digest of a part, so that an unchanged one is not written again."""
    content = hashlib.blake2b(repr(row).encode("utf-8", "replace"), digest_size=8)
    return int.from_bytes(content.digest(), "big", signed=True)


def item_row(document: Document, corpus: Corpus) -> tuple[object, ...]:
    """Return the row of a document in parts, in ITEM_COLUMNS."""
    return (
        document.external_id,
        document.digest,
        document.created_at,
        document.title,
        document.author or corpus.author,
        document.lang,
        document.url,
        document.attribution,
        document.platform,
        document.pages,
        len(document.parts),
    )


def _record(document: Document, corpus: Corpus, known: frozenset[str]) -> tuple[object, ...]:
    return (
        document.external_id,
        document.text,
        document.search_text,
        document.created_at,
        document.digest,
        document.author or corpus.author,
        document.title,
        document.role,
        document.lang,
        language_of(document.lang, corpus.language, known),
        document.url,
        document.reply_to,
        document.platform,
        document.thread,
        document.attribution,
        document.tags,
        document.mentions,
        document.engagement,
        int(document.flags),
        orjson.dumps(document.meta).decode(),
    )

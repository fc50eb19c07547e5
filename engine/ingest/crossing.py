"""The formats of what the reading process sends to its owner, apart from its answers."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson

from engine.documents import Document, Part
from engine.ingest.records import Reject
from engine.types import Flag

# The first byte of a note: the current file, a sign of life, documents, a request for input.
FILE, PROGRESS, DOCUMENTS, INPUT = b"f", b"p", b"d", b"i"


def pack_documents(documents: Sequence[Document]) -> bytes:
    """Return documents as JSON."""
    return orjson.dumps(documents)


def unpack_documents(content: bytes) -> list[Document]:
    """Return the documents that were packed."""
    return [_document(said) for said in orjson.loads(content)]


def _document(said: dict[str, Any]) -> Document:
    said["created_at"] = datetime.fromisoformat(said["created_at"])
    said["tags"], said["mentions"] = tuple(said["tags"]), tuple(said["mentions"])
    said["flags"] = Flag(said["flags"])
    said["parts"] = tuple(Part(**part) for part in said["parts"])
    return Document(**said)


def reject_rows(rejects: Iterable[Reject]) -> list[tuple[str, int, str]]:
    """Return rejects in a form for JSON."""
    return [(reject.file, reject.line, reject.reason) for reject in rejects]


def rejects_of(rows: Iterable[Sequence[Any]]) -> tuple[Reject, ...]:
    """Return the rejects that `reject_rows` converted."""
    return tuple(Reject(file=file, line=line, reason=reason) for file, line, reason in rows)

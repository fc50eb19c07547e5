"""Tells where parts of items stand: title, headings and pages."""

from collections.abc import Sequence
from dataclasses import replace

from db.connection import Fetches
from db.corpus.partitions import about_corpus
from engine.query.types import FoundDocument, FoundDocuments
from engine.search import Candidate, ItemPlace
from engine.types import Corpus


async def placed(
    reader: Fetches, corpus: Corpus, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return candidates with the places of those that are parts.

    A statement of its own, so that corpora without parts pay nothing.
    """
    if not corpus.in_parts or not candidates:
        return list(candidates)
    rows = await reader.fetch(
        about_corpus("places", "places", corpus.id), [one.id for one in candidates]
    )
    known = {row["id"]: ItemPlace(**{k: v for k, v in row.items() if k != "id"}) for row in rows}
    return [replace(one, place=known.get(one.id)) for one in candidates]


async def placed_documents(
    reader: Fetches, corpus: Corpus, found: FoundDocuments
) -> FoundDocuments:
    """Return found documents with the places of those that are parts."""
    if not corpus.in_parts:
        return found
    candidates = await placed(reader, corpus, [one.candidate for one in found.documents])
    documents: list[FoundDocument] = [
        replace(one, candidate=candidate)
        for one, candidate in zip(found.documents, candidates, strict=True)
    ]
    return replace(found, documents=documents)

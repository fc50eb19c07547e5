"""Whole texts: what `find --json` prints, and a document by its id."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from engine.contracts.answers import AnswerModel, FoundText, round_figure, text_values
from engine.contracts.results import (
    Attachment,
    MatchedTerm,
    PersonalSnippet,
    PublishedSnippet,
    Snippet,
    SocialSnippet,
    StageCounts,
    attachments_of,
    query_values,
)
from engine.query.results import FindHit, FoundDocument, QueryAnswer
from engine.values import Kind

_SNIPPETS: Mapping[Kind, type[Snippet]] = {
    Kind.PERSONAL: PersonalSnippet,
    Kind.SOCIAL: SocialSnippet,
    Kind.TWEETS: SocialSnippet,
    Kind.PUBLISHED: PublishedSnippet,
    Kind.LIBRARY: PublishedSnippet,
}


class DocumentText(FoundText):
    """A text with all that is known about it."""

    context: str | None = Field(description="The message that it answers.")
    beside: list[str] = Field(
        description="What is searched beside the text: descriptions of pictures, polls, links."
    )
    title: str | None
    role: str | None
    platform: str | None
    thread: str | None
    attribution: str = Field(description="Where it comes from, else author, source and date.")
    lang: str | None
    tags: list[str]
    mentions: list[str]
    engagement: int
    attachments: list[Attachment]
    participants: list[str] = Field(description="Of its conversation.")


def _document_values(document: FoundDocument) -> dict[str, Any]:
    """Return the values of DocumentText."""
    candidate = document.candidate
    return {
        **text_values(candidate),
        "context": candidate.context,
        "beside": list(candidate.beside),
        "title": document.title,
        "role": document.role,
        "platform": candidate.platform,
        "thread": document.thread,
        "attribution": document.attribution,
        "lang": candidate.lang,
        "tags": list(document.tags),
        "mentions": list(document.mentions),
        "engagement": document.engagement,
        "attachments": list(attachments_of(document)),
        "participants": list(document.participants),
    }


class DocumentAnswer(DocumentText):
    """One text with the names that `presagio find --json` gives its hits."""

    corpus: str

    @classmethod
    def of(cls, corpus: str, document: FoundDocument) -> Self:
        """Return a document of the corpus."""
        return cls(corpus=corpus, **_document_values(document))


class FoundHit(DocumentText):
    """A text that meets a query."""

    rank: int
    corpus: str | None = Field(description="Its corpus, in an answer from all of them.")
    score: float | None
    similarity: float | None
    matched: list[MatchedTerm]

    @classmethod
    def of(cls, hit: FindHit) -> Self:
        """Return a hit of a query."""
        return cls(
            **_document_values(hit.document),
            rank=hit.rank,
            corpus=hit.document.candidate.corpus,
            score=round_figure(hit.score),
            similarity=round_figure(hit.similarity),
            matched=list(map(MatchedTerm.of, hit.matched)),
        )


class FindAnswer(AnswerModel):
    """What `presagio find --json` prints. A hit has the names of the contract of its kind too."""

    query: str
    canonical: str
    expanded: str
    filters: list[str]
    corpus: str
    plan: str
    counts: dict[str, int | None]
    elapsed_ms: int
    notice: str | None
    hits: list[dict[str, Any]]

    @classmethod
    def of(cls, text: str, answer: QueryAnswer, *, elapsed_ms: float) -> Self:
        """Return what a query found."""
        return cls(
            query=text,
            **query_values(answer),
            counts=StageCounts.of(answer).model_dump(exclude={"elsewhere"}),
            elapsed_ms=round(elapsed_ms),
            notice=" ".join(answer.notices) or None,
            hits=[
                _build_contract(answer.kind, hit) | FoundHit.of(hit).to_json()
                for hit in answer.hits
            ],
        )


def _build_contract(kind: Kind | None, hit: FindHit) -> dict[str, Any]:
    """Return a hit in the contract of its kind, but for `source`, which meant the platform here
    before the contract had a name for it."""
    if kind is None:
        return {}
    named = _SNIPPETS[kind].of(hit).model_dump(mode="json")
    return named | {"source": hit.document.candidate.platform or hit.document.domain}

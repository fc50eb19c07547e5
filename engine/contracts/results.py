"""Search results: snippets that quote the documents verbatim, with receipts."""

from dataclasses import asdict
from datetime import UTC, datetime
from mimetypes import guess_type
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from engine.contracts.requests import SearchContract
from engine.query.results import Comment, FindHit, FoundDocument, Match, QueryAnswer
from engine.values import DateKind, Flag

_DIGITS = 4
_FILE_KINDS = frozenset({"image", "video", "audio", "text"})


class Value(BaseModel):
    """The base class of all results."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class MatchedTerm(Value):
    """One part of the query in one hit. `alias_of`: what was asked for, where an alias stood."""

    term: str
    alias_of: str | None
    lexemes: tuple[str, ...]
    count: int
    fields: tuple[str, ...]
    score: float

    @classmethod
    def of(cls, match: Match) -> Self:
        """Return the contract's form of a match."""
        return cls(**{**asdict(match), "score": round(match.score, _DIGITS)})


class StageCounts(Value):
    """How many documents were left after each stage; docs/find.md tells what each is."""

    corpus: int
    matching: int | None
    passing: int
    candidates: int | None
    fetched: int
    elsewhere: int = 0
    distinct: int
    returned: int

    @classmethod
    def of(cls, answer: QueryAnswer) -> Self:
        """Return the counts of a find."""
        return cls.model_validate(asdict(answer.counts))


class HitReceipt(Value):
    """Why one document was found."""

    rank: int
    score: float | None
    bm25: float | None
    parts: dict[str, float | None]
    matched: tuple[MatchedTerm, ...]


class Receipt(Value):
    """How an answer came about. It holds no text of any document."""

    canonical: str
    expanded: str
    filters: tuple[str, ...]
    corpus: str
    plan: str
    counts: StageCounts
    hits: tuple[HitReceipt, ...]

    @classmethod
    def of(cls, answer: QueryAnswer) -> Self:
        """Return the receipt of a find."""
        return cls(
            **query_values(answer),
            counts=StageCounts.of(answer),
            hits=tuple(
                HitReceipt.model_validate({"rank": hit.rank, **receipt_values(hit)})
                for hit in answer.hits
            ),
        )


def query_values(answer: QueryAnswer) -> dict[str, Any]:
    """Return what was asked, how it was read, and where it was looked for."""
    return {
        "canonical": str(answer.query),
        "expanded": str(answer.expanded),
        "filters": tuple(map(str, answer.query.filters)),
        "corpus": answer.corpus,
        "plan": answer.plan.value,
    }


def receipt_values(hit: FindHit) -> dict[str, object]:
    """Return why a document was found."""
    return {
        "score": None if hit.score is None else round(hit.score, _DIGITS),
        "bm25": None if hit.score is None else round(hit.document.candidate.bm25, _DIGITS),
        "parts": {
            name: None if value is None else round(value, _DIGITS)
            for name, value in hit.parts.items()
        },
        "matched": tuple(map(MatchedTerm.of, hit.matched)),
    }


class Attachment(Value):
    """A file of a message or post. `kind` is image, video, audio, text or file, by its name."""

    name: str
    kind: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the attachment with this name or address."""
        kind = (guess_type(name.partition("?")[0])[0] or "").partition("/")[0]
        return cls(name=name, kind=kind if kind in _FILE_KINDS else "file")


def attachments_of(document: FoundDocument) -> tuple[Attachment, ...]:
    """Return the files of a document."""
    return tuple(map(Attachment.of, document.attachments))


class Snippet(Value):
    """A window of the text around its best match, to the letter, and where it stands.

    `source` is the kind of search that found it, `platform` the app, network or format.
    `parts` are those of the score, 0..1; `bm25` is what the matched terms add up to.
    """

    snippet: str
    source: str
    platform: str | None
    date: datetime | None  # None: nothing tells when it was written
    dated_by: DateKind | None  # what the date tells, if not when it was written
    author: str | None
    tags: tuple[str, ...]
    voice_terms: tuple[str, ...]
    attribution: str
    notes: tuple[str, ...]
    score: float | None
    bm25: float | None
    parts: dict[str, float | None]
    matched: tuple[MatchedTerm, ...]

    @classmethod
    def of(cls, hit: FindHit) -> Self:
        """Return the contract's form of a hit."""
        values = _snippet_values(hit)
        return cls.model_validate(
            {name: values[name] for name in cls.model_fields if name in values}
        )


class PersonalSnippet(Snippet):
    """A message of a thread."""

    source: Literal["Personal"] = "Personal"
    thread_id: str | None
    message_id: str
    role: str | None
    attachments: tuple[Attachment, ...]
    participants: tuple[str, ...]


class PostComment(Value):
    """An answer to a post."""

    text: str
    author: str | None
    date: datetime
    post_id: str
    url: str | None
    engagement: int

    @classmethod
    def of(cls, comment: Comment) -> Self:
        """Return the contract's form of a comment."""
        return cls(
            text=comment.text,
            author=comment.author,
            date=comment.created_at.astimezone(UTC),
            post_id=comment.external_id,
            url=comment.url,
            engagement=comment.engagement,
        )


class SocialSnippet(Snippet):
    """A post."""

    source: Literal["Social"] = "Social"
    post_id: str
    url: str | None
    engagement: int
    mentions: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    comments: tuple[PostComment, ...]


class PublishedSnippet(Snippet):
    """A passage of an article."""

    source: Literal["Published"] = "Published"
    title: str | None
    domain: str | None
    url: str | None
    article_id: str
    heading: str | None  # the headings above it, outermost first
    page: int | None  # of a document with pages, from 1
    last_page: int | None


def _snippet_values(hit: FindHit) -> dict[str, object]:
    """Return the fields that snippets of every kind share."""
    document, candidate = hit.document, hit.document.candidate
    return {
        "snippet": hit.excerpt.text if hit.excerpt else candidate.text,
        "date": candidate.created_at and candidate.created_at.astimezone(UTC),
        "dated_by": candidate.dated_by,
        "author": candidate.author,
        "tags": document.tags,
        "voice_terms": hit.voice_terms,
        "attribution": document.attribution,
        "notes": _list_notes(hit),
        **receipt_values(hit),
        "thread_id": document.thread,
        "message_id": candidate.external_id,
        "role": document.role,
        "platform": document.candidate.platform,
        "post_id": candidate.external_id,
        "url": candidate.url,
        "engagement": document.engagement,
        "mentions": document.mentions,
        "attachments": attachments_of(document),
        "participants": document.participants,
        "comments": tuple(map(PostComment.of, hit.comments)),
        "title": document.title,
        "domain": document.domain,
        "article_id": candidate.external_id,
        "heading": candidate.place and candidate.place.heading,
        "page": candidate.place and candidate.place.page,
        "last_page": candidate.place and candidate.place.last_page,
    }


def _list_notes(hit: FindHit) -> tuple[str, ...]:
    """Return what a reader should know about a hit besides its text."""
    flags = hit.document.candidate.flags & ~Flag.THREAD
    cut = hit.excerpt is not None and (hit.excerpt.before or hit.excerpt.after)
    alike = f"{hit.alike} near-identical left out"
    elsewhere = f"{hit.elsewhere} more places in it"
    return (
        *flags.names,
        *(("excerpt of a longer text",) if cut else ()),
        *((alike,) if hit.alike else ()),
        *((elsewhere,) if hit.elsewhere else ()),
    )


S = TypeVar("S", bound=Snippet)


class SearchResult(Value, Generic[S]):
    """What a search found, with its receipt; no items means that nothing is there."""

    query: str
    canonical: str
    expanded: str
    filters: tuple[str, ...]
    corpus: str
    plan: str
    counts: StageCounts
    notice: str | None
    items: tuple[S, ...]


PersonalResult = SearchResult[PersonalSnippet]
SocialResult = SearchResult[SocialSnippet]
PublishedResult = SearchResult[PublishedSnippet]


def result_of(search: SearchContract, answer: QueryAnswer, snippet: type[S]) -> SearchResult[S]:
    """Return a find in the contract's form."""
    return SearchResult[snippet](  # type: ignore[valid-type]  # pydantic makes the class here
        query=search.query,
        **query_values(answer),
        counts=StageCounts.of(answer),
        notice=" ".join(answer.notices) or None,
        items=tuple(map(snippet.of, answer.hits)),
    )

"""What a query finds, as programs read it: hits as JSON, by the contract of their kind and as the
receipt, and a document by its id.

`hit_values` says what there is to tell of a hit; each view of it lists the fields that it has.
"""

from datetime import UTC, datetime
from mimetypes import guess_type
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import Field

from engine.contracts.answers import AnswerModel, FoundText, round_figure, text_values
from engine.contracts.requests import SearchContract
from engine.query.results import Comment, FindHit, FoundDocument, Match, QueryAnswer
from engine.values import DateKind, Flag

_FILE_KINDS = frozenset({"image", "video", "audio", "text"})
_OF_HIT = ("rank", "alike", "elsewhere", "voice_terms")
_OF_DOCUMENT = (
    *("title", "role", "thread", "attribution", "tags", "mentions", "engagement"),
    *("participants", "domain"),
)
_OF_CANDIDATE = ("context", "beside", "platform", "lang", "corpus")


class MatchedTerm(AnswerModel):
    """One part of the query in one hit. `alias_of`: what was asked for, where an alias stood."""

    term: str
    alias_of: str | None
    lexemes: tuple[str, ...]
    count: int
    fields: tuple[str, ...]
    score: float

    @classmethod
    def of(cls, match: Match) -> Self:
        """Return a match."""
        return cls.copy_fields(match, score=round_figure(match.score))


class StageCounts(AnswerModel):
    """How many documents were left after each stage; docs/find.md tells what each is."""

    corpus: int
    matching: int | None
    passing: int
    candidates: int | None
    fetched: int
    elsewhere: int = 0
    distinct: int
    returned: int


class Attachment(AnswerModel):
    """A file of a message or post. `kind` is image, video, audio, text or file, by its name."""

    name: str
    kind: str

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the attachment with this name or address."""
        kind = (guess_type(name.partition("?")[0])[0] or "").partition("/")[0]
        return cls(name=name, kind=kind if kind in _FILE_KINDS else "file")


class PostComment(AnswerModel):
    """An answer to a post."""

    text: str
    author: str | None
    date: datetime
    post_id: str
    url: str | None
    engagement: int

    @classmethod
    def of(cls, comment: Comment) -> Self:
        """Return a comment."""
        date = comment.created_at.astimezone(UTC)
        return cls.copy_fields(comment, date=date, post_id=comment.external_id)


def _document_values(document: FoundDocument) -> dict[str, Any]:
    """Return what there is to tell of a document, by the names of DocumentText."""
    candidate = document.candidate
    return {
        **{name: getattr(document, name) for name in _OF_DOCUMENT},
        **{name: getattr(candidate, name) for name in _OF_CANDIDATE},
        **text_values(candidate),
        "attachments": tuple(map(Attachment.of, document.attachments)),
    }


def hit_values(hit: FindHit) -> dict[str, Any]:
    """Return what there is to tell of a hit, by the names of FoundHit, the receipt and the
    contracts."""
    candidate, place = hit.document.candidate, hit.document.candidate.place
    return {
        **_document_values(hit.document),
        **{name: getattr(hit, name) for name in _OF_HIT},
        "score": round_figure(hit.score),
        "bm25": None if hit.score is None else round_figure(candidate.bm25),
        "similarity": round_figure(hit.similarity),
        "parts": {name: round_figure(value) for name, value in hit.parts.items()},
        "matched": tuple(map(MatchedTerm.of, hit.matched)),
        "snippet": hit.excerpt.text if hit.excerpt else candidate.text,
        "date": candidate.created_at and candidate.created_at.astimezone(UTC),
        "notes": _list_notes(hit),
        "thread_id": hit.document.thread,
        **dict.fromkeys(("message_id", "post_id", "article_id"), candidate.external_id),
        "comments": tuple(map(PostComment.of, hit.comments)),
        "heading": place and place.heading,
        "page": place and place.page,
        "last_page": place and place.last_page,
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


class _HitModel(AnswerModel):
    """The base class of the views of a hit."""

    @classmethod
    def of(cls, hit: FindHit) -> Self:
        """Return what this view tells of a hit."""
        values = hit_values(hit)
        return cls.model_validate(
            {name: values[name] for name in cls.model_fields if name in values}
        )


class HitReceipt(_HitModel):
    """Why one document was found."""

    rank: int
    score: float | None
    bm25: float | None
    parts: dict[str, float | None]
    matched: tuple[MatchedTerm, ...]


class DocumentText(FoundText):
    """A text with all that is known about it."""

    context: str | None = Field(description="The message that it answers.")
    beside: list[str] = Field(
        description="What is searched beside the text: descriptions of pictures, polls, links."
    )
    title: str | None
    role: str | None
    platform: str | None
    domain: str | None = Field(description="Of its page, without www.")
    thread: str | None
    attribution: str = Field(description="Where it comes from, else author, source and date.")
    lang: str | None
    tags: list[str]
    mentions: list[str]
    engagement: int
    attachments: list[Attachment]
    participants: list[str] = Field(description="Of its conversation.")


class DocumentAnswer(DocumentText):
    """One text with the names that `presagio find --json` gives its hits."""

    corpus: str

    @classmethod
    def of(cls, corpus: str, document: FoundDocument) -> Self:
        """Return a document of the corpus."""
        return cls(**_document_values(document) | {"corpus": corpus})


class FoundHit(_HitModel, DocumentText):
    """A text that meets a query."""

    rank: int
    corpus: str | None = Field(description="Its corpus, in an answer from all of them.")
    score: float | None
    bm25: float | None = Field(description="What the matched terms add up to.")
    parts: dict[str, float | None] = Field(description="Of the score, where a profile ranks.")
    similarity: float | None
    matched: list[MatchedTerm]
    voice_terms: list[str] = Field(description="Pairs of words that its corpus says seldom.")
    alike: int = Field(description="Near-identical texts that are left out for it.")
    elsewhere: int = Field(description="Other places in its document that are left out for it.")


class Snippet(_HitModel):
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


class PersonalSnippet(Snippet):
    """A message of a thread."""

    source: Literal["Personal"] = "Personal"
    thread_id: str | None
    message_id: str
    role: str | None
    attachments: tuple[Attachment, ...]
    participants: tuple[str, ...]


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


class _QueryModel(AnswerModel):
    """How a query was read, and where it was looked for."""

    canonical: str
    expanded: str
    filters: tuple[str, ...]
    corpus: str
    plan: str
    counts: StageCounts

    @classmethod
    def copy_answer(cls, answer: QueryAnswer, **values: Any) -> Self:
        """Return what was found, with `values`."""
        return cls(
            canonical=str(answer.query),
            expanded=str(answer.expanded),
            filters=tuple(map(str, answer.query.filters)),
            corpus=answer.corpus,
            plan=answer.plan,
            counts=StageCounts.copy_fields(answer.counts),
            **values,
        )


class Receipt(_QueryModel):
    """How an answer came about. It holds no text of any document."""

    hits: tuple[HitReceipt, ...]

    @classmethod
    def of(cls, answer: QueryAnswer) -> Self:
        """Return the receipt of a find."""
        return cls.copy_answer(answer, hits=tuple(map(HitReceipt.of, answer.hits)))


class FindAnswer(_QueryModel):
    """What `presagio find --json` prints."""

    query: str
    elapsed_ms: int
    notice: str | None
    hits: list[FoundHit]

    @classmethod
    def of(cls, text: str, answer: QueryAnswer, *, elapsed_ms: float) -> Self:
        """Return what a query found."""
        return cls.copy_answer(
            answer,
            query=text,
            elapsed_ms=round(elapsed_ms),
            notice=" ".join(answer.notices) or None,
            hits=list(map(FoundHit.of, answer.hits)),
        )


S = TypeVar("S", bound=Snippet)


class SearchResult(_QueryModel, Generic[S]):
    """What a search found, with its receipt; no items means that nothing is there."""

    query: str
    notice: str | None
    items: tuple[S, ...]


PersonalResult = SearchResult[PersonalSnippet]
SocialResult = SearchResult[SocialSnippet]
PublishedResult = SearchResult[PublishedSnippet]


def result_of(search: SearchContract, answer: QueryAnswer, snippet: type[S]) -> SearchResult[S]:
    """Return a find in the contract's form."""
    return SearchResult[snippet].copy_answer(  # type: ignore[valid-type]  # pydantic makes the class here
        answer,
        query=search.query,
        notice=" ".join(answer.notices) or None,
        items=tuple(map(snippet.of, answer.hits)),
    )

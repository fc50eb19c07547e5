"""What the dialect finds, with its receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from engine.messages import Message
from engine.query.plan import Plan
from engine.query.query import Query
from engine.text.snippet import Excerpt
from engine.types import Candidate, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document that meets the query, with what a headline's candidate has no need of."""

    candidate: Candidate  # its `matched` is empty: lexemes are counted here
    frequencies: Mapping[str, int]  # scored lexeme -> how often the document says it
    in_text: Mapping[str, int]  # the same for its own text, without the message it answers
    title: str | None
    role: str | None
    platform: str | None
    thread: str | None
    attribution: str | None
    tags: tuple[str, ...]
    mentions: tuple[str, ...]
    engagement: int
    domain: str | None = None  # whose page it is, without "www."


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocuments:
    """The first documents in the plan's order, and how many there are in all."""

    matching: int | None  # hold the words; None: no word was looked for
    passing: int  # of those, meet the filters too
    documents: Sequence[FoundDocument]


@dataclass(frozen=True, slots=True)
class Scored:
    """A document on its way to a hit: its score, the parts of it, how many it stands for."""

    document: FoundDocument
    score: float | None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    alike: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One part of the query in one hit."""

    term: str  # the word or phrase, as the dialect writes it
    alias_of: str | None  # what the person wrote, where an alias was found in its place
    lexemes: tuple[str, ...]  # those that the document says
    count: int  # how often it says them
    fields: tuple[str, ...]  # "text", "context" (the message it answers)
    score: float  # its part of the hit's BM25


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """An answer to a post, in the same corpus."""

    external_id: str
    text: str
    created_at: datetime
    author: str | None
    url: str | None
    engagement: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FindHit:
    """One found document, and why."""

    rank: int
    document: FoundDocument
    score: float | None  # BM25, or the profile's; None where no word was looked for
    matched: tuple[Match, ...]
    parts: Mapping[str, float | None] = field(default_factory=dict)  # of a profile's score, 0..1
    alike: int = 0  # near-identical ones that were left out for it
    excerpt: Excerpt | None = None  # what is shown of it; None: its text
    voice_terms: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()  # the strongest first
    similarity: float | None = None  # of meaning, where that was asked for

    @property
    def created_at(self) -> datetime:
        """When the document was written."""
        return self.document.candidate.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many documents are left after each stage."""

    corpus: int
    matching: int | None = None  # hold the words; None: no word was looked for
    passing: int = 0  # meet the filters too
    fetched: int = 0  # the first of those
    distinct: int = 0  # of the fetched, without near-identical ones
    returned: int = 0
    candidates: int | None = None  # a profile has ranked; those before `fetched` were cut off


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer to a query, with its receipt."""

    query: Query
    expanded: Query
    corpus: str
    kind: Kind | None = None  # None: there is no such corpus
    plan: Plan
    counts: Counts
    hits: tuple[FindHit, ...] = ()
    notices: tuple[Message, ...] = ()

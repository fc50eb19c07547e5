"""Results of the query dialect, with their receipts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from engine.messages import Message
from engine.query.plan import Plan
from engine.query.query import Query
from engine.search import Candidate
from engine.text.snippet import Excerpt
from engine.types import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document that matches the query, with fields that headlines do not need."""

    candidate: Candidate  # its `matched` is empty: lexemes are counted here
    frequencies: Mapping[str, int]  # scored lexeme -> frequency in the document
    in_text: Mapping[str, int]  # the same for its own text, without the message it answers
    title: str | None
    role: str | None
    thread: str | None
    attribution: str | None
    tags: tuple[str, ...]
    mentions: tuple[str, ...]
    engagement: int
    domain: str | None = None  # of its page, without "www."
    attachments: tuple[str, ...] = ()  # names or addresses of files
    participants: tuple[str, ...] = ()  # of its conversation, where the export tells


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocuments:
    """The first documents in the plan's order, and how many there are in all."""

    matching: int | None  # have the words; None: no words were searched
    passing: int  # of those, also pass the filters
    documents: Sequence[FoundDocument]


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored document: its score, the parts of the score, and how many others it represents."""

    document: FoundDocument
    score: float | None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    alike: int = 0
    elsewhere: int = 0  # other parts of the same item


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One part of the query in one hit."""

    term: str  # the word or phrase, as the dialect writes it
    alias_of: str | None  # what the user wrote, if an alias of it was found
    lexemes: tuple[str, ...]  # those in the document
    count: int  # their frequency
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
    """One found document, and why it was found."""

    rank: int
    document: FoundDocument
    score: float | None  # BM25, or the profile's; None if no words were searched
    matched: tuple[Match, ...]
    parts: Mapping[str, float | None] = field(default_factory=dict)  # of a profile's score, 0..1
    alike: int = 0  # near-identical documents left out in its favour
    elsewhere: int = 0  # other parts of its item left out in its favour
    excerpt: Excerpt | None = None  # None: show the whole text
    voice_terms: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()  # the strongest first
    similarity: float | None = None  # by meaning, if requested

    @property
    def created_at(self) -> datetime:
        """When the document was written."""
        return self.document.candidate.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many documents are left after each stage."""

    corpus: int
    matching: int | None = None  # have the words; None: no words were searched
    passing: int = 0  # also pass the filters
    fetched: int = 0  # the first of those
    distinct: int = 0  # of the fetched, without near-identical ones
    returned: int = 0
    elsewhere: int = 0  # of the fetched, left out in favour of another part of their item
    candidates: int | None = None  # ranked by a profile, before the cut to `fetched`


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer to a query, with its receipt."""

    query: Query
    expanded: Query
    corpus: str
    kind: Kind | None = None  # None: no such corpus
    plan: Plan
    counts: Counts
    hits: tuple[FindHit, ...] = ()
    notices: tuple[Message, ...] = ()


def touched_platforms(found: Found) -> tuple[str, ...]:
    """Return the platforms of the hits in lower case, in the order of their best hits."""
    platforms = (hit.document.candidate.platform for hit in found.hits)
    return tuple(dict.fromkeys(one.lower() for one in platforms if one))

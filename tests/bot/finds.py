"""Finds to answer with, and a stand-in for the dialect's engine that remembers its calls."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from engine.errors import PresagioError
from engine.query.parser import parse_query
from engine.query.query import Plan
from engine.query.results import Counts, FindHit, FoundDocument, Match, QueryAnswer
from engine.search import Candidate
from engine.values import Flag


def make_find_hit(rank: int = 1, *, score: float | None = 7.946, **changes: object) -> FindHit:
    """A hit about coffee; `changes` are of its Candidate."""
    values: dict[str, object] = {
        "id": rank,
        "external_id": "9007199254740993",
        "text": f"Text number {rank} about coffee",
        "context": None,
        "created_at": datetime(2014, 3, 1, 9, tzinfo=UTC),
        "author": "ana",
        "url": "https://x.com/ana/status/9007199254740993",
        "lang": "en",
        "flags": Flag.NONE,
        "length": 5,
        "bm25": score or 0.0,
        "matched": {},
        "platform": "x",
    }
    document = FoundDocument(
        candidate=Candidate(**{**values, **changes}),  # type: ignore[arg-type]  # the table above has the types
        frequencies={"coffe": 2},
        in_text={"coffe": 2},
        title=None,
        role=None,
        thread=None,
        attribution=None,
        tags=(),
        mentions=(),
        engagement=3,
    )
    match = Match(
        term="coffee", alias_of=None, lexemes=("coffe",), count=2, fields=("text",), score=7.946
    )
    return FindHit(
        rank=rank, document=document, score=score, matched=() if score is None else (match,)
    )


def make_found(
    text: str, *hits: FindHit, passing: int | None = None, corpus: str = "demo"
) -> QueryAnswer:
    """An answer; by default nothing more passes than is shown."""
    total = len(hits) if passing is None else passing
    query = parse_query(text)
    return QueryAnswer(
        query=query,
        expanded=query,
        corpus=corpus,
        plan=Plan.RANKED,
        counts=Counts(
            corpus=100,
            matching=total,
            passing=total,
            fetched=len(hits),
            distinct=len(hits),
            returned=len(hits),
        ),
        hits=hits,
        notices=query.notices,
    )


@dataclass
class StandInFind:
    """Answers every query with two `hits` of seven, or raises `error`."""

    calls: list[tuple[str, str, int]] = field(default_factory=list)
    error: PresagioError | None = None
    hits: int = 2

    async def __call__(self, text: str, *, corpus: str, limit: int) -> QueryAnswer:
        self.calls.append((text, corpus, limit))
        if self.error:
            raise self.error
        hits = (make_find_hit(rank) for rank in range(1, min(self.hits, limit) + 1))
        return make_found(text, *hits, passing=7, corpus=corpus)

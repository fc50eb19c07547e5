"""Prophecies to answer with, and a stand-in for the engine that counts its calls."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from engine.messages import as_message
from engine.search import (
    Candidate,
    Filters,
    Headline,
    Hit,
    HitKind,
    Prophecy,
    SearchRequest,
    Term,
    Verdict,
)
from engine.values import Flag, Usage

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
JUDGED = Verdict(
    scores={1: 6, 2: 4},
    model="openai/gpt-5-mini",
    prompt_version="3",
    usage=Usage(prompt_tokens=4321, completion_tokens=56, cost_usd=0.00123),
)
UNJUDGED = Verdict(scores={})


def make_hit(
    rank: int = 1,
    *,
    text: str | None = None,
    created_at: datetime | None = datetime(2014, 3, 1, 9, tzinfo=UTC),
    author: str | None = "ana",
    url: str | None = "https://x.com/ana/status/9007199254740993",
    flags: Flag = Flag.NONE,
    score: float = 0.83456,
    parts: Mapping[str, float | None] | None = None,
    factors: Mapping[str, float] | None = None,
    matched: tuple[str, ...] = ("coffee", "prices"),
    kind: HitKind | None = HitKind.PREDICTION,
) -> Hit:
    candidate = Candidate(
        id=rank,
        external_id="9007199254740993",
        text=text or f"Tweet number {rank} about coffee",
        context=None,
        created_at=created_at,
        author=author,
        url=url,
        lang="en",
        flags=flags,
        length=5,
        bm25=7.5,
        matched={0: 1, 1: 1},
    )
    default = {"judgment": 1.0, "lexical": 0.4242424, "age": 0.9}
    return Hit(
        rank=rank,
        kind=kind if parts is None or parts["judgment"] is not None else None,
        candidate=candidate,
        score=score,
        parts=default if parts is None else parts,
        factors=factors or {},
        matched=matched,
    )


def make_term(word: str, *, neighbour_of: str | None = None, frequency: int = 3) -> Term:
    return Term(
        word=word,
        lexemes=(word,),
        document_frequency=frequency,
        max_tf=1,
        neighbour_of=neighbour_of,
    )


def make_prophecy(
    *hits: Hit,
    text: str = "Coffee prices soar",
    original: str | None = None,
    date: datetime | None = None,
    terms: tuple[Term, ...] = (),
    candidates: tuple[str, ...] = ("11", "12", "13", "14"),
    verdict: Verdict = JUDGED,
    notice: str | None = None,
    headline: Headline | None = None,
    near: tuple[Hit, ...] = (),
) -> Prophecy:
    asked = Headline(text=text, original=text if original is None else original, date=date)
    return Prophecy(
        headline=headline or asked,
        corpus="demo",
        hits=hits,
        terms=terms,
        candidates=candidates,
        verdict=verdict,
        coverage=0.61,
        notice=as_message(notice) if notice else None,
        near=near,
    )


@dataclass
class StandInEngine:
    """Answers every headline with as many hits as are asked for, up to `found`.

    A headline that holds a key of `errors` raises that error instead.
    """

    found: int = 5
    near: int = 0
    parts: Mapping[str, float | None] | None = None
    matched: tuple[str, ...] = ("coffee", "prices")
    verdict: Verdict = JUDGED
    errors: dict[str, Exception] = field(default_factory=dict)
    gate: asyncio.Event | None = None  # answers wait for it
    late: asyncio.Event | None = None  # whole answers do, and others find the hits `early`
    early: int = 1
    calls: list[tuple[str, str, int, datetime]] = field(default_factory=list)
    dates: list[datetime | None] = field(default_factory=list)  # of the headlines
    filters: list[Filters] = field(default_factory=list)
    excluded: list[int | None] = field(default_factory=list)  # months before the headline

    async def __call__(self, request: SearchRequest, *, corpus: str) -> Prophecy:
        headline, limit = request.headline, request.limit
        self.calls.append((headline.text, corpus, limit, request.now))
        self.dates.append(headline.date)
        self.filters.append(request.filters)
        self.excluded.append(request.exclude_recent)
        if self.gate:
            await self.gate.wait()
        found, unfinished = self.found, False
        if self.late and request.patience is None:
            await self.late.wait()
        elif self.late:
            found, unfinished = self.early, True
        for word, error in self.errors.items():
            if word in headline.text:
                raise error
        ranks = range(1, min(found, limit) + 1)
        hits = [make_hit(rank, parts=self.parts, matched=self.matched) for rank in ranks]
        weak = {"judgment": 2 / 6, "lexical": 0.4, "age": 0.9}
        ranks = range(len(hits) + 1, len(hits) + self.near + 1)
        near = tuple(make_hit(rank, parts=weak) for rank in ranks)
        prophecy = make_prophecy(*hits, verdict=self.verdict, headline=headline, near=near)
        return replace(prophecy, unfinished=unfinished)

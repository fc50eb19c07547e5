"""The receipt of an answer: why it is as it is, without the text of any document."""

from dataclasses import asdict
from typing import Self

from pydantic import BaseModel, ConfigDict

from engine.query.types import FindHit, Found, Match

_DIGITS = 4


class Value(BaseModel):
    """The base class of all results."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
        return cls(
            term=match.term,
            alias_of=match.alias_of,
            lexemes=match.lexemes,
            count=match.count,
            fields=match.fields,
            score=round(match.score, _DIGITS),
        )


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
    def of(cls, found: Found) -> Self:
        """Return the counts of a find."""
        return cls.model_validate(asdict(found.counts))


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
    def of(cls, found: Found) -> Self:
        """Return the receipt of a find."""
        return cls(
            canonical=str(found.query),
            expanded=str(found.expanded),
            filters=tuple(map(str, found.query.filters)),
            corpus=found.corpus,
            plan=found.plan.value,
            counts=StageCounts.of(found),
            hits=tuple(
                HitReceipt.model_validate({"rank": hit.rank, **receipt_values(hit)})
                for hit in found.hits
            ),
        )


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

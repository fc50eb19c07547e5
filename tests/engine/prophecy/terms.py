"""A headline's words and candidates that contain them, for tests of coverage and scores."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from engine.search import Candidate, Term
from engine.values import Flag
from tests.engine.candidates import candidate

NOW = datetime(2024, 6, 1, tzinfo=UTC)
DOCUMENTS, AVERAGE = 1000, 10.0


def term(word: str, df: int = 10, *, weight: float = 1.0, of: str | None = None) -> Term:
    return Term(
        word=word, lexemes=(word,), document_frequency=df, max_tf=9, weight=weight, neighbour_of=of
    )


TERMS = (term("coffee"), term("prices", 30), term("soar", 5))


def found(
    identity: int,
    matched: Mapping[int, int],
    *,
    length: int = 10,
    flags: Flag = Flag.NONE,
    days: float = 1000,
    similarity: float | None = None,
) -> Candidate:
    made = candidate(identity, f"text {identity}", created_at=NOW - timedelta(days=days))
    return replace(made, matched=dict(matched), length=length, flags=flags, similarity=similarity)

"""Candidates and the corpus that they are of, for tests of the engine."""

from datetime import UTC, datetime

from engine.search import Candidate
from engine.values import Corpus, Flag, Kind

CORPUS = Corpus(
    id=1,
    name="demo",
    kind=Kind.TWEETS,
    language="simple",
    author=None,
    url_template=None,
    documents=9,
    tokens=9,
    languages=("simple",),
)


def candidate(
    id: int,  # noqa: A002 - the name of the field
    text: str = "a tweet",
    *,
    external_id: str | None = None,
    created_at: datetime = datetime(2013, 8, 30, 22, tzinfo=UTC),
) -> Candidate:
    """A candidate of which only what the judge sees matters."""
    return Candidate(
        id=id,
        external_id=external_id or f"x{id}",
        text=text,
        context=None,
        created_at=created_at,
        author=None,
        url=f"https://tweets.example/{id}",
        lang=None,
        flags=Flag.NONE,
        length=3,
        bm25=1.0,
        matched={},
    )

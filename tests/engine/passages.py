"""Passages for tests of answers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from engine.answer.types import Gathered, Passage
from engine.search import Candidate, Hit
from engine.types import Corpus, Flag, Kind, ScoredText

ME = Corpus(
    id=1,
    name="me",
    kind=Kind.TWEETS,
    language="english",
    author=None,
    url_template=None,
    documents=10,
    tokens=100,
    languages=("english",),
)


def passage(
    text: str,
    *,
    id: int = 1,  # noqa: A002 - the name of the field
    matched: tuple[str, ...] = ("coffee",),
    score: float = 0.5,
    corpus: str = "me",
    context: str | None = None,
    author: str | None = "ana",
) -> Passage:
    """A text that was found by `matched`."""
    found = Candidate(
        id=id,
        external_id=f"x{id}",
        text=text,
        context=context,
        created_at=datetime(2013, 8, 30, 22, tzinfo=UTC),
        author=author,
        url=f"https://posts.example/{id}",
        lang=None,
        flags=Flag.NONE,
        length=3,
        bm25=1.0,
        matched={},
    )
    hit = Hit(rank=id, candidate=found, score=score, parts={}, factors={}, matched=matched)
    return Passage(corpus=corpus, hit=hit)


def gathered(*texts: str | Passage, corpus: Corpus = ME) -> Gathered:
    """What was found for a question in a corpus, best first."""
    return Gathered(
        corpora=(corpus,),
        passages=[
            one if isinstance(one, Passage) else passage(one, id=number)
            for number, one in enumerate(texts, start=1)
        ],
    )


def scored(
    texts: Sequence[str], scores: Sequence[float] = (), cosines: Sequence[float | None] = ()
) -> list[ScoredText]:
    """Texts to be put in order, with scores and cosines where they are given."""
    return [
        ScoredText(text=text, score=score or 0.0, cosine=cosine)
        for text, score, cosine in zip_longest(texts, scores, cosines)
    ]

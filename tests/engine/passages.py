"""Passages for tests of answers."""

from datetime import UTC, datetime

from engine.answer_types import Gathered, Passage
from engine.types import Candidate, Flag, Hit


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


def gathered(*texts: str | Passage) -> Gathered:
    """What was found for a question, best first."""
    return Gathered(
        corpora=("me",),
        passages=[
            one if isinstance(one, Passage) else passage(one, id=number)
            for number, one in enumerate(texts, start=1)
        ],
    )

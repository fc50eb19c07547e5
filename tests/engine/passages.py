"""Passages for tests of answers."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from engine.answer.cited_answer import GatheredPassages, Passage
from engine.search import Hit
from engine.values import Corpus, Flag, ScoredText
from tests.engine.candidates import CORPUS, candidate

ME = replace(
    CORPUS, name="me", language="english", documents=10, tokens=100, languages=("english",)
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
    flags: Flag = Flag.NONE,
) -> Passage:
    """A text that was found by `matched`."""
    url = f"https://posts.example/{id}"
    found = replace(candidate(id, text), context=context, author=author, url=url, flags=flags)
    hit = Hit(rank=id, candidate=found, score=score, parts={}, factors={}, matched=matched)
    return Passage(corpus=corpus, hit=hit)


def gathered(*texts: str | Passage, corpus: Corpus = ME) -> GatheredPassages:
    """What was found for a question in a corpus, best first."""
    return GatheredPassages(
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

"""Joins the answers of several corpora to one headline."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from engine.corpora import ALL
from engine.messages import Message, join_messages
from engine.search import Hit, Prophecy, Term, Verdict
from engine.types import Corpus, Usage


def together(answers: Sequence[tuple[Corpus, Prophecy]], limit: int) -> Prophecy:
    """Return one answer with the best `limit` hits of all, each with the voice that wrote it.

    There must be at least one answer, and all must be to the same headline.
    """
    prophecies = [prophecy for _, prophecy in answers]
    named = [
        (_named(prophecy.hits, corpus), _named(prophecy.near, corpus))
        for corpus, prophecy in answers
    ]
    terms: dict[str, Term] = {}
    for term in chain.from_iterable(one.terms for one in prophecies):
        # A word that one archive has needs no neighbour in the answer of all.
        written = term.neighbour_of or term.word
        if written not in terms or terms[written].neighbour_of:
            terms[written] = term
    return replace(
        prophecies[0],
        corpus=ALL,
        hits=_best(chain.from_iterable(hits for hits, _ in named), limit),
        near=_best(chain.from_iterable(near for _, near in named), limit),
        terms=tuple(terms.values()),
        candidates=tuple(chain.from_iterable(one.candidates for one in prophecies)),
        verdict=_verdict([one.verdict for one in prophecies]),
        coverage=max(one.coverage for one in prophecies),
        notice=_distinct([one.notice for one in prophecies]),
        compared=sum(one.compared for one in prophecies),
    )


def _named(hits: Sequence[Hit], corpus: Corpus) -> list[Hit]:
    """Return the hits with the corpus's voice on those that name neither voice nor author."""
    return [
        hit
        if hit.candidate.voice or hit.candidate.author
        else replace(hit, candidate=replace(hit.candidate, voice=corpus.voice))
        for hit in hits
    ]


def _best(hits: "chain[Hit]", limit: int) -> tuple[Hit, ...]:
    ordered = sorted(hits, key=lambda hit: -hit.score)  # stable: of equals, the first corpus's
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered[:limit], start=1))


def _verdict(verdicts: Sequence[Verdict]) -> Verdict:
    judging = next((one for one in verdicts if one.scores), verdicts[0])
    usages = [one.usage for one in verdicts if one.usage and not one.cached]
    return replace(
        judging,
        scores={key: score for one in verdicts for key, score in one.scores.items()},
        reasons={key: why for one in verdicts for key, why in one.reasons.items()},
        usage=sum(usages, Usage()) if usages else None,
        cached=not usages,
        notice=_distinct([one.notice for one in verdicts]),
        withheld=all(one.withheld for one in verdicts),
    )


def _distinct(notices: Sequence[Message | None]) -> Message | None:
    """Return the notices as one, each once, or None."""
    joined: Message | None = join_messages(*dict.fromkeys(one for one in notices if one))
    return joined

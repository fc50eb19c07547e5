"""Answers one headline from several corpora at once, and joins their answers."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Protocol

from engine.corpora import ALL
from engine.messages import Message, join_messages
from engine.prophecy.score import level_hits, order_hits
from engine.search import Expansion, Hit, Prophecy, SearchRequest, Term, Verdict
from engine.values import Corpus, Usage

_AT_ONCE = 4  # corpora of one headline; each asks the database several questions at once


class Prophesies(Protocol):
    """Answers a headline from one corpus."""

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Return the best hits. Raises the errors of the search index."""


async def prophesy_from_all(
    prophet: Prophesies,
    corpora: Sequence[Corpus],
    request: SearchRequest,
    weights: Mapping[str, float],
) -> Prophecy:
    """Answer a headline from every one of `corpora`, of which there must be at least one.

    A few are searched and judged at once; each call to a model reserves its part of the budget
    first, so that together they spend no more than one after the other. Raises what fails first.
    """
    room = asyncio.Semaphore(_AT_ONCE)

    async def answer(corpus: Corpus) -> Prophecy:
        async with room:
            return await prophet.prophesy(corpus, request)

    tasks = [asyncio.ensure_future(answer(corpus)) for corpus in corpora]
    try:
        prophecies = await asyncio.gather(*tasks)
    finally:  # one may have failed, and nobody waits for the others any more
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if len(corpora) == 1:
        return prophecies[0]
    return together(list(zip(corpora, prophecies, strict=True)), request.limit, weights)


def together(
    answers: Sequence[tuple[Corpus, Prophecy]], limit: int, weights: Mapping[str, float]
) -> Prophecy:
    """Return one answer with the best `limit` hits of all, each with the voice that wrote it.

    Judged hits go before others, whichever corpus they are from, and ranks continue from the hits
    to the near texts, as in the answer of one corpus. `weights` are those of the parts of scores,
    which are made comparable. There must be at least one answer, and all must be to one headline.
    """
    prophecies = [prophecy for _, prophecy in answers]
    hits = _best([(corpus, one.hits) for corpus, one in answers], limit, weights, after=0)
    near = _best([(corpus, one.near) for corpus, one in answers], limit, weights, after=len(hits))
    by_meaning = next((one for one in prophecies if one.embedding_model), prophecies[0])
    return replace(
        prophecies[0],
        corpus=ALL,
        hits=hits,
        near=near,
        terms=_terms(prophecies),
        candidates=tuple(chain.from_iterable(one.candidates for one in prophecies)),
        verdict=_verdict([one.verdict for one in prophecies]),
        coverage=max(one.coverage for one in prophecies),
        notice=_distinct(one.notice for one in prophecies),
        mode=by_meaning.mode,
        embedding_model=by_meaning.embedding_model,
        expansion=_expansion([one.expansion for one in prophecies]),
        compared=sum(one.compared for one in prophecies),
    )


def _best(
    found: Sequence[tuple[Corpus, Sequence[Hit]]],
    limit: int,
    weights: Mapping[str, float],
    *,
    after: int,
) -> tuple[Hit, ...]:
    named = [_name_author(hit, corpus) for corpus, hits in found for hit in hits]
    ordered = sorted(level_hits(named, weights), key=order_hits)[:limit]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=after + 1))


def _name_author(hit: Hit, corpus: Corpus) -> Hit:
    """Return the hit with the corpus's voice if it names neither voice nor author."""
    if hit.candidate.voice or hit.candidate.author:
        return hit
    return replace(hit, candidate=replace(hit.candidate, voice=corpus.voice))


def _terms(prophecies: Sequence[Prophecy]) -> tuple[Term, ...]:
    terms: dict[str, Term] = {}
    for term in chain.from_iterable(one.terms for one in prophecies):
        # A word that one archive has needs no neighbour in the answer of all.
        written = term.neighbour_of or term.word
        if written not in terms or terms[written].neighbour_of:
            terms[written] = term
    return tuple(terms.values())


def _verdict(verdicts: Sequence[Verdict]) -> Verdict:
    judging = [one for one in verdicts if one.scores]
    usage = _sum(one.usage for one in verdicts if not one.cached)
    return replace(
        judging[0] if judging else verdicts[0],
        scores={key: score for one in verdicts for key, score in one.scores.items()},
        reasons={key: why for one in verdicts for key, why in one.reasons.items()},
        usage=usage,
        cached=bool(judging) and all(one.cached for one in judging) and usage is None,
        notice=_distinct(one.notice for one in verdicts),
        withheld=all(one.withheld for one in verdicts),
        damage=dict(sum((Counter(one.damage) for one in verdicts), Counter())),
    )


def _expansion(expansions: Sequence[Expansion]) -> Expansion:
    """Return the phrases of all, each once, and what they cost together."""
    naming = [one for one in expansions if one.phrases]
    return replace(
        naming[0] if naming else expansions[0],
        phrases=tuple(dict.fromkeys(chain.from_iterable(one.phrases for one in expansions))),
        usage=_sum(one.usage for one in expansions),
        cached=bool(naming) and all(one.cached for one in naming),
        late=any(one.late for one in expansions),
        seconds=max((one.seconds for one in expansions if one.seconds is not None), default=None),
    )


def _sum(usages: Iterable[Usage | None]) -> Usage | None:
    known = [one for one in usages if one]
    return sum(known, Usage()) if known else None


def _distinct(notices: Iterable[Message | None]) -> Message | None:
    """Return the notices as one, each once, or None."""
    joined: Message | None = join_messages(*dict.fromkeys(one for one in notices if one))
    return joined

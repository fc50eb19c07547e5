"""Joins the answers of several corpora to one query."""

from collections.abc import Sequence
from dataclasses import replace

from engine.corpora import ALL, outdated_notice
from engine.query.types import Counts, FindHit, Found
from engine.types import Corpus


def found_together(answers: Sequence[tuple[Corpus, Found]], limit: int) -> Found:
    """Return one answer with the first `limit` hits of all: best first, or newest first.

    Each hit names its voice. What one archive lacks is no news if another has it, so only notices
    of all are kept. There must be at least one answer, and all must be to one query.
    """
    founds = [found for _, found in answers]
    hits = [_named(hit, corpus) for corpus, found in answers for hit in found.hits]
    hits.sort(key=lambda hit: (-(hit.score or 0), -hit.created_at.timestamp()))
    kept = tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:limit], start=1))
    return replace(
        founds[0],
        corpus=ALL,
        hits=kept,
        counts=_sum([found.counts for found in founds], returned=len(kept)),
        notices=(
            *(one for one in founds[0].notices if all(one in other.notices for other in founds)),
            *filter(None, (outdated_notice(corpus) for corpus, _ in answers)),
        ),
    )


def _named(hit: FindHit, corpus: Corpus) -> FindHit:
    found = hit.document.candidate
    if found.voice or found.author:
        return hit
    named = replace(hit.document, candidate=replace(found, voice=corpus.voice))
    return replace(hit, document=named)


def _sum(counts: Sequence[Counts], *, returned: int) -> Counts:
    matching = [one.matching for one in counts if one.matching is not None]
    candidates = [one.candidates for one in counts if one.candidates is not None]
    return Counts(
        corpus=sum(one.corpus for one in counts),
        matching=sum(matching) if matching else None,
        passing=sum(one.passing for one in counts),
        fetched=sum(one.fetched for one in counts),
        distinct=sum(one.distinct for one in counts),
        returned=returned,
        candidates=sum(candidates) if candidates else None,
    )

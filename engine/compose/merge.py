"""The fourth step: passages of corpora and web together, without repeats, the best few first. Pure.

Ordering by a reranker is the caller's; `by_words` is what remains without one.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from engine.compose.types import SourceKind, SourcePassage
from engine.ranking.bm25 import scores_of
from engine.rerank.local import terms_of
from engine.text.address import link_key
from engine.text.chunks import Block, chunks
from engine.web.types import WebPage

SHINGLE = 5  # words
SAME = 0.9  # Jaccard share of shingles above which two passages say the same
SAME_MEANING = 0.95  # the same of the cosine of their vectors
MOST_CHUNKS = 6  # of one page
_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"\n\s*\n")


def web_passages(pages: Iterable[WebPage]) -> list[SourcePassage]:
    """Return the parts of pages, each long enough to be understood alone."""
    return [
        SourcePassage(
            key=f"{page.url}#{part}",
            kind=SourceKind.WEB,
            text=chunk.text,
            title=page.title or page.site or urlsplit(page.url).hostname or page.url,
            date=page.date,
            url=page.url,
            author=page.author,
        )
        for page in pages
        for part, chunk in enumerate(
            chunks(Block(text=text) for text in _PARAGRAPH.split(page.text))[:MOST_CHUNKS], start=1
        )
    ]


def distinct(
    passages: Sequence[SourcePassage], same: Collection[frozenset[str]] = ()
) -> tuple[list[SourcePassage], int]:
    """Return the passages without repeats of earlier ones, and the number of repeats.

    A repeat has the same words, nearly the same shingles, or is named in `same` as a pair of keys
    whose meaning is the same. A web page that a corpus holds too is a repeat of it.
    """
    held = {link_key(one.url) for one in passages if one.url and one.kind is SourceKind.INTERNAL}
    kept: list[SourcePassage] = []
    seen: list[frozenset[int]] = []
    pairs = set(same)
    for one in passages:
        if one.kind is SourceKind.WEB and one.url and link_key(one.url) in held:
            continue
        shingles = _shingles(one.text)
        if any(jaccard(shingles, other) > SAME for other in seen):
            continue
        if pairs and any(frozenset((one.key, other.key)) in pairs for other in kept):
            continue
        kept.append(one)
        seen.append(shingles)
    return kept, len(passages) - len(kept)


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of shingles in common, 0..1."""
    if not one or not other:
        return 0.0
    smaller, larger = sorted((len(one), len(other)))
    if smaller < SAME * larger:
        return 0.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _shingles(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    if len(words) <= SHINGLE:
        return frozenset({hash(tuple(words))}) if words else frozenset()
    return frozenset(
        hash(tuple(words[at : at + SHINGLE])) for at in range(len(words) - SHINGLE + 1)
    )


def by_words(query: str, passages: Sequence[SourcePassage]) -> list[float]:
    """Return the BM25 score, 0..1, of each passage among these."""
    return scores_of(terms_of(query), [terms_of(f"{one.title}\n{one.text}") for one in passages])


def best(
    passages: Sequence[SourcePassage],
    scores: Mapping[str, float],
    *,
    boost: float,
    most: int,
    per_site: int,
) -> list[SourcePassage]:
    """Return the best passages, those of corpora weighing `boost` times as much.

    The request's own texts always stay. At most `per_site` passages come from one web site.
    """
    scored = [replace(one, score=scores.get(one.key, 0.0)) for one in passages]
    ordered = sorted(scored, key=lambda one: (not one.pinned, -round(_weight(one, boost), 9)))
    sites: Counter[str] = Counter()
    chosen: list[SourcePassage] = []
    for one in ordered:
        site = _site(one)
        if site and sites[site] >= per_site:
            continue
        if one.pinned or len(chosen) < most:
            sites[site] += 1
            chosen.append(one)
    return chosen


def _weight(passage: SourcePassage, boost: float) -> float:
    return passage.score * (boost if passage.kind is SourceKind.INTERNAL else 1.0)


def _site(passage: SourcePassage) -> str:
    if passage.kind is SourceKind.INTERNAL or not passage.url:
        return ""
    return (urlsplit(passage.url).hostname or "").removeprefix("www.")

"""Chooses the passages for the evidence: merged, without repeats, reranked where possible."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.compose.merge import best, by_words, distinct, web_passages
from engine.compose.types import RetrievedPassages, SourceKind, SourcePassage
from engine.errors import PresagioError
from engine.messages import Message
from engine.ports import Reranker
from engine.settings.composing import ComposeSettings
from engine.types import ScoredText
from engine.web.types import WebPage

# A corpus scores an ordinary text 1 if it has every word once, BM25 of a few passages about half
# of that: pages of the web, which no corpus scores, are put on the same scale.
_ON_SCALE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPassages:
    """The best passages, best first; `notice` says why no reranker ordered them."""

    passages: list[SourcePassage]
    repeats: int = 0
    notice: Message | None = None


class Chooser:
    """Chooses passages as the settings say."""

    def __init__(self, settings: ComposeSettings, reranker: Reranker | None) -> None:
        self._settings = settings
        self._reranker = reranker

    async def choose(
        self, query: str, internal: RetrievedPassages, pages: Iterable[WebPage]
    ) -> ChosenPassages:
        """Return the best passages for a query."""
        together = [*internal.passages, *web_passages(pages)]
        kept, repeats = distinct(together, internal.alike)
        scores = _scores(query, kept)
        # The limit of a site holds for what is chosen in the end, when its best passages are known.
        first = self._best(kept, scores, self._settings.reranked, self._settings.reranked)
        reranked, notice = await self._reranked(query, first)
        passages = self._best(
            first, {**scores, **reranked}, self._settings.passages, self._settings.per_site
        )
        return ChosenPassages(passages=passages, repeats=repeats, notice=notice)

    def _best(
        self,
        passages: Sequence[SourcePassage],
        scores: Mapping[str, float],
        most: int,
        per_site: int,
    ) -> list[SourcePassage]:
        boost = self._settings.internal_boost
        return best(passages, scores, boost=boost, most=most, per_site=per_site)

    async def _reranked(
        self, query: str, passages: Sequence[SourcePassage]
    ) -> tuple[Mapping[str, float], Message | None]:
        """Return the reranker's scores by key, or none and why."""
        if self._reranker is None or len(passages) < 2:
            return {}, None
        seconds = self._settings.rerank_seconds
        try:
            async with asyncio.timeout(seconds):
                scores = await self._reranker.rerank(query, [_scored(one) for one in passages])
        except TimeoutError:
            reason = Message("The reranker gave nothing within {seconds:g} s.", seconds=seconds)
        except PresagioError as error:
            reason = error.said
        else:
            if len(scores) == len(passages):
                keys = (one.key for one in passages)
                return dict(zip(keys, scores, strict=True)), None
            reason = Message("The reranker did not score every passage.")
        return {}, Message("Ordered by words alone: {reason}", reason=reason)


def _scores(query: str, passages: Sequence[SourcePassage]) -> dict[str, float]:
    """Return the score of each passage by key: that of its corpus, which knows which words are
    rare, and for the web that of its words among all these passages."""
    words = by_words(query, passages)
    return {
        one.key: min(1.0, _ON_SCALE * score) if one.kind is SourceKind.WEB else one.score
        for one, score in zip(passages, words, strict=True)
    }


def _scored(passage: SourcePassage) -> ScoredText:
    return ScoredText(text=passage.text, score=passage.score, cosine=passage.cosine)

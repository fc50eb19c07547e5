"""`/api/search`: by words and meaning over any corpus, without a judge."""

import time
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from bot.answering import searcher
from bot.app import NEWS_CORPUS
from bot.console.as_json import prophecy_json
from bot.web.desk import Desk
from bot.web.narrowing import TaggedIndex, TaggedVectors
from bot.web.parameters import Narrowed, SearchParameters
from db.shown import Shown
from engine.headline import read_headline
from engine.prophecy import Prophet
from engine.types import Corpus, Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is searched: a corpus, or what feeds of a category brought to it."""

    desk: Desk
    corpus: Corpus
    tag: str | None

    @classmethod
    async def of(cls, desk: Desk, asked: Narrowed) -> Self:
        """Read what was asked for. Raises CorpusNotFound, UsageError, StorageError."""
        news = NEWS_CORPUS if asked.category and asked.kind is None else ""
        corpus = await desk.corpus(asked.corpus or news, asked.kind)
        tag = asked.category.casefold() if asked.category else None
        return cls(desk=desk, corpus=corpus, tag=tag)

    def searcher(self) -> Prophet:
        """Return who finds texts in it; to him a text is no better for being old."""
        app, tag = self.desk.app, self.tag
        if tag is None:
            return searcher(app)
        shown = Shown(app.database)
        index, meaning = TaggedIndex(app.index, shown, tag), app.meaning
        meaning = meaning and replace(meaning, vectors=TaggedVectors(meaning.vectors, shown, tag))
        return searcher(replace(app, index=index, meaning=meaning))

    async def count(self, filters: Filters) -> int:
        """Return how many texts are searched."""
        return await Shown(self.desk.app.database).count(self.corpus, filters, self.tag)


async def search(desk: Desk, asked: SearchParameters) -> dict[str, object]:
    """Return what `presagio search --json` prints, and what was counted and asked for.

    Raises CorpusNotFound, UsageError, StorageError.
    """
    started, now = time.perf_counter(), desk.now()
    scope = await Scope.of(desk, asked)
    filters = Filters(after=asked.period.begins(now), before=now)
    found = await scope.searcher().prophesy(
        scope.corpus,
        read_headline(asked.q),
        limit=asked.limit,
        now=now,
        filters=filters,
        judged=False,
        mode=asked.mode,
    )
    searched = await scope.count(filters)
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = prophecy_json(found, now=now, elapsed_ms=elapsed_ms)
    hits = cast(list[dict[str, Any]], answer["hits"])
    return answer | {
        "kind": scope.corpus.kind.value,
        "category": asked.category,
        "period": asked.period.value,
        "searched": searched,
        "returned": len(hits),
        "hits": [hit | {"similarity": hit["parts"]["semantic"]} for hit in hits],
    }

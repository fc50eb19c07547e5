"""`/api/search`: by words and meaning over any corpus, without a judge."""

import time
from dataclasses import replace
from typing import Any, cast

from bot.app import NEWS_CORPUS, App, prophecy_settings
from bot.console.as_json import prophecy_json
from bot.web.desk import Desk
from bot.web.narrowing import TaggedIndex, TaggedVectors
from bot.web.parameters import SearchParameters
from db.shown import Shown
from engine.headline import read_headline
from engine.prophecy import ProphecySettings, Prophet
from engine.types import Filters, Verdict


class _Unasked:
    """A judge who says nothing: nobody asked him."""

    async def judge(self, *_: object, **__: object) -> Verdict:
        return Verdict(scores={})


async def search(desk: Desk, asked: SearchParameters) -> dict[str, object]:
    """Return what `presagio search --json` prints, and what was counted and asked for.

    Raises CorpusNotFound, UsageError, StorageError.
    """
    started, now = time.perf_counter(), desk.now()
    tag = asked.category and asked.category.casefold()
    corpus = await desk.corpus(
        asked.corpus or (NEWS_CORPUS if tag and asked.kind is None else ""), asked.kind
    )
    shown = Shown(desk.app.database)
    filters = Filters(after=asked.period.begins(now), before=now)
    settings = prophecy_settings(desk.settings)
    found = await _searcher(desk.app, settings, shown, tag).prophesy(
        corpus,
        read_headline(asked.q),
        limit=asked.limit,
        now=now,
        filters=filters,
        mode=asked.mode,
    )
    searched = await shown.count(corpus, filters, tag)
    elapsed_ms = (time.perf_counter() - started) * 1000
    answer = prophecy_json(found, now=now, elapsed_ms=elapsed_ms)
    hits = cast(list[dict[str, Any]], answer["hits"])
    return answer | {
        "kind": corpus.kind.value,
        "category": asked.category,
        "period": asked.period.value,
        "searched": searched,
        "returned": len(hits),
        "hits": [hit | {"similarity": hit["parts"]["semantic"]} for hit in hits],
    }


def _searcher(app: App, settings: ProphecySettings, shown: Shown, tag: str | None) -> Prophet:
    """Return a prophet for whom a text is no better for being old."""
    chosen = replace(settings, profile=replace(settings.profile, age=0.0))
    index, meaning = app.index, app.meaning
    if tag:
        index = TaggedIndex(index, shown, tag)
        meaning = meaning and replace(meaning, vectors=TaggedVectors(meaning.vectors, shown, tag))
    return Prophet(index, _Unasked(), chosen, meaning)

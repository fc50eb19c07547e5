"""Keeping vectors up to date by embedding what is missing in small slices, beside other work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from engine.embed.fill import (
    BATCH,
    batches,
    embedded,
    prepared,
    renew_moved,
    settle,
)
from engine.embed.store import VectorStore, range_of
from engine.errors import EmbeddedElsewhere
from engine.ports import Embedder
from engine.types import Corpus
from engine.vectors import Unembedded

# Seconds between checks of texts that already have a vector: they may have changed.
_LOOK_AGAIN = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The progress of the check of all texts of a corpus."""

    after: int | None = 0  # the last id checked; None: all were
    ended: float = 0.0  # when the last check ended
    stored: int = 0  # vectors stored since the last settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The result of one turn."""

    embedded: int = 0
    anew: bool = False  # all vectors are being made again from now on


class KeepUp:
    """Embeds in turns, keeping its progress between them. `clock` returns seconds."""

    def __init__(
        self, store: VectorStore, *, clock: Callable[[], float], batch: int = BATCH
    ) -> None:
        self._store = store
        self._clock = clock
        self._batch = batch
        self._places: dict[tuple[int, str, int], _Place] = {}

    async def turn(self, embedder: Embedder, corpus: Corpus, *, until: float) -> Slice:
        """Embed what is missing until the clock shows `until`, new texts first.

        At least one batch is embedded, even if the time is over. What another process is embedding
        is left to it. Raises VectorsUnsupported, UsageError, ModelError, SettingsError and storage
        errors.
        """
        if embedder.dimensions == 0 or not corpus.documents:
            return Slice()
        # A reindexed corpus is checked at once, for its texts or its words may be other ones.
        key = corpus.id, embedder.name, corpus.index_version
        model_id, _ = await prepared(self._store, embedder)
        place = self._places.get(key, _Place())
        if place.after is None and self._clock() - place.ended > _LOOK_AGAIN:
            place = replace(place, after=0)
        anew = place.after == 0 and await renew_moved(self._store, embedder, corpus, model_id)
        done, place = await self._embed(embedder, corpus, model_id, place, until)
        self._places[key] = place
        return Slice(embedded=done, anew=anew)

    async def _embed(
        self, embedder: Embedder, corpus: Corpus, model_id: int, place: _Place, until: float
    ) -> tuple[int, _Place]:
        new = await self._pass(embedder, corpus, model_id, None, until)
        place = replace(place, stored=place.stored + new.done)
        if not new.ended or place.after is None:
            return new.done, place
        looked = await self._pass(embedder, corpus, model_id, place.after, until)
        done = new.done + looked.done
        place = replace(place, after=looked.after, stored=place.stored + looked.done)
        if looked.ended:
            if place.stored:
                await settle(self._store, embedder, corpus, model_id)
            place = _Place(after=None, ended=self._clock())
        return done, place

    async def _pass(
        self,
        embedder: Embedder,
        corpus: Corpus,
        model_id: int,
        after: int | None,
        until: float,
    ) -> "_Pass":
        """Embed missing vectors of texts with ids above `after`; None: of new texts only."""
        passed = _Pass(done=0, after=after or 0, ended=True)
        parts = self._store.missing(corpus, model_id, after=passed.after, new=after is None)
        async for part in parts:
            for _, some in groupby(part, lambda one: range_of(one.id)):
                try:
                    more = await self._range(embedder, corpus, model_id, list(some), until)
                except EmbeddedElsewhere:  # taken over while this process was frozen
                    continue
                passed = replace(more, done=passed.done + more.done)
                if not passed.ended:
                    return passed
        return passed

    async def _range(
        self,
        embedder: Embedder,
        corpus: Corpus,
        model_id: int,
        texts: Sequence[Unembedded],
        until: float,
    ) -> "_Pass":
        """Embed texts of one range, unless another process holds it."""
        done, last = 0, texts[-1].id
        async with self._store.claim(corpus, model_id, range_of(last)) as claim:
            if claim is None:
                return _Pass(done=0, after=last, ended=True)
            ids = [one.id for one in texts]  # another process may have embedded some by now
            left = await self._store.unembedded(corpus, model_id, ids)
            for batch in batches(sorted(left, key=lambda one: one.id), self._batch):
                vectors = await embedded(embedder, batch)
                await self._store.store(corpus, model_id, vectors, claim=claim)
                done += len(batch)
                if self._clock() >= until:
                    return _Pass(done=done, after=batch[-1].id, ended=False)
        return _Pass(done=done, after=last, ended=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """The result of one pass over texts."""

    done: int
    after: int
    ended: bool

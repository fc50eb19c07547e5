"""Re-ranking of the best few texts by meaning, with vectors made on the fly.

Texts are embedded best first, as many as the time allows, and the vectors are stored for later
searches. Re-ranking ends at the first text without a vector: that text and those after it keep
their lexical order, so that nothing is compared with an unknown similarity.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Protocol, runtime_checkable

from engine.embed.fill import embed_batch
from engine.embed.store import SCALES, VectorStore
from engine.errors import (
    ModelError,
    StorageFull,
    StorageRights,
    UsageError,
    VectorsUnsupported,
)
from engine.messages import Message
from engine.ports import Embedder
from engine.search import Candidate
from engine.settings.searching import SearchSettings
from engine.values import Corpus
from engine.vectors import Unembedded

_LONGEST_QUESTION = 1000  # characters
_PATIENCE = 1.0  # seconds for the vector of a question; a new process must load the model
_FIRST_GUESS = 0.0004  # seconds per character, until measured
_SURE = 0.8  # share of the remaining time to use: a text that is not ready in time is lost
_AT_ONCE = 8  # texts
_BEST = 24  # texts that are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The result of a comparison: similarities, 0..1, of the best texts, by id."""

    similarity: Mapping[int, float]
    model: str
    notice: Message | None = None  # why there is nothing, if the user should know

    def apply_similarities(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with their similarities."""
        return [replace(one, similarity=self.similarity.get(one.id)) for one in candidates]


@runtime_checkable
class StartsEarly(Protocol):
    """A model that takes long to start, and may do so before it is asked."""

    def start(self) -> None:
        """Start in the background, unless it has started."""


class HeadlineReranker:
    """Compares the best few texts with a headline.

    Only one call embeds at a time; the time that others wait counts against their limit.
    `embedder` returns the model for a corpus, which must be fast, that is, on this machine.
    """

    def __init__(
        self,
        embedder: Callable[[Corpus], Embedder],
        vectors: VectorStore,
        settings: SearchSettings | None = None,
        *,
        best: int | None = None,
    ) -> None:
        self.best = best or _BEST  # the number of best texts to compare
        self._embedder = embedder
        self._vectors = vectors
        self._settings = settings or SearchSettings()
        self._alone = asyncio.Lock()
        self._pace = _FIRST_GUESS

    def start(self, corpus: Corpus) -> None:
        """Start the process of the model, which takes as long as finding texts to compare."""
        embedder = self._embedder(corpus)
        if isinstance(embedder, StartsEarly):
            embedder.start()

    async def compare(
        self, corpus: Corpus, headline: str, best_first: Sequence[Candidate]
    ) -> Compared | None:
        """Return the similarities of the texts before the first one without a vector.

        Returns None if there is nothing to compare or the database cannot store vectors. Raises
        the errors of storage ports, except StorageRights and StorageFull, which become a notice.
        """
        embedder = self._embedder(corpus)
        chosen = best_first[: self.best]
        if not chosen or embedder.dimensions == 0:
            return None
        try:
            similarity = await self._similarities(embedder, corpus, headline, chosen)
        except VectorsUnsupported:
            return None
        except TimeoutError:  # the model is not loaded yet, or busy
            reason = Message(
                "The headline was not embedded within {seconds:g} s.", seconds=_PATIENCE
            )
            return Compared(similarity={}, model=embedder.name, notice=_not_ordered(reason))
        except (ModelError, UsageError, StorageRights, StorageFull) as error:
            notice = _not_ordered(error.said)
            return Compared(similarity={}, model=embedder.name, notice=notice)
        return Compared(similarity=similarity, model=embedder.name) if similarity else None

    async def _similarities(
        self, embedder: Embedder, corpus: Corpus, headline: str, chosen: Sequence[Candidate]
    ) -> dict[int, float]:
        async with asyncio.timeout(_PATIENCE):
            asked = await embedder.embed_query(headline[:_LONGEST_QUESTION])
        if not any(asked):
            return {}
        model_id = await self._vectors.prepare(embedder.name, len(asked))
        ids = [one.id for one in chosen]
        missing = {
            one.id: one for one in await self._vectors.find_unembedded(corpus, model_id, ids)
        }
        wanted = [missing[one] for one in ids if one in missing]
        made = await self._made(embedder, corpus, model_id, wanted)
        known = list(takewhile(lambda one: one not in missing or one in made, ids))
        space = await self._vectors.space(corpus, embedder.name)
        if space is None or not (scale := space.scale or SCALES.get(space.model)):
            return {}
        cosines = await self._vectors.cosines(corpus, space, asked, known)
        # A text that means nothing to the model is similar to nothing.
        return {one: scale.calibrate(cosines[one]) if one in cosines else 0.0 for one in known}

    async def _made(
        self,
        embedder: Embedder,
        corpus: Corpus,
        model_id: int,
        wanted: Sequence[Unembedded],
    ) -> set[int]:
        """Make and store vectors, in this order, as time allows; return the ids embedded."""
        made: set[int] = set()
        clock = asyncio.get_running_loop().time
        until = clock() + self._settings.rerank_seconds
        embedding = False
        try:
            async with asyncio.timeout_at(until), self._alone:
                embedding = True
                while some := self._select_fitting(wanted[len(made) :], until - clock()):
                    began = clock()
                    vectors = await embed_batch(embedder, some)
                    self._learn(some, clock() - began)
                    await self._vectors.store(corpus, model_id, vectors)
                    made |= {one.id for one in some}
        except TimeoutError:
            if embedding:  # rather than waiting for others
                self._pace *= 2  # the machine is slower than measured
        else:
            if wanted and not made:  # else a pace that was once slow would never be measured again
                self._pace /= 2
        return made

    def _select_fitting(self, wanted: Sequence[Unembedded], seconds: float) -> Sequence[Unembedded]:
        """Return the first texts of `wanted` that can be embedded within `seconds`."""
        left = _SURE * seconds
        for number, one in enumerate(wanted[:_AT_ONCE]):
            left -= self._pace * len(one.text)
            if left < 0:
                return wanted[:number]
        return wanted[:_AT_ONCE]

    def _learn(self, some: Sequence[Unembedded], seconds: float) -> None:
        characters = sum(len(one.text) for one in some)
        if characters:
            self._pace = (self._pace + seconds / characters) / 2


def _not_ordered(reason: Message) -> Message:
    return Message("Not ordered by meaning: {reason}", reason=reason)

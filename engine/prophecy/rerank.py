"""Re-ranking of the best few texts by meaning, with vectors made on the fly.

All of them are compared or none, so that an answer does not depend on how busy the machine is: what
has no vector in time is embedded all the same, and the next search has it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from engine.embed.fill import batches, embed_batch
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
from engine.prophecy.order import LEARNED
from engine.search import Candidate
from engine.settings.searching import SearchSettings
from engine.values import Closable, Corpus
from engine.vectors import Vector

_LONGEST_QUESTION = 1000  # characters
_AT_ONCE = 8  # texts, which are stored together
_BEST = 24  # texts that are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The result of a comparison: similarities, 0..1, of the best texts, by id.

    Texts that mean nothing to the model have no cosine.
    """

    similarity: Mapping[int, float]
    model: str
    cosines: Mapping[int, float] = field(default_factory=dict)
    notice: Message | None = None  # why there is nothing, if the user should know
    unfinished: bool = False  # patience ended, and the texts are still being embedded

    def apply_similarities(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with their similarities."""
        return [
            replace(candidate, similarity=self.similarity.get(candidate.id))
            for candidate in candidates
        ]


@runtime_checkable
class StartsEarly(Protocol):
    """A model that takes long to start, and may do so before it is asked."""

    def start(self) -> None:
        """Start in the background, unless it has started."""


class HeadlineReranker(Closable):
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
        self._work = set[asyncio.Task[object]]()

    async def aclose(self) -> None:
        """End what is still being embedded; what is stored stays."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def knows_order(self, corpus: Corpus) -> bool:
        """Return whether labels can be predicted from what the model gives."""
        return self._embedder(corpus).name in LEARNED

    def start(self, corpus: Corpus) -> None:
        """Start the process of the model, which takes as long as finding texts to compare."""
        embedder = self._embedder(corpus)
        if isinstance(embedder, StartsEarly):
            embedder.start()

    async def compare(
        self,
        corpus: Corpus,
        headline: str,
        best_first: Sequence[Candidate],
        *,
        patience: float | None = None,
    ) -> Compared | None:
        """Return the similarities of the best few texts: of all of them, or of none.

        With `patience`, in seconds, what is late is unfinished. Returns None if there is nothing
        to compare or the database cannot store vectors. Raises the errors of storage ports, except
        StorageRights and StorageFull, which become a notice.
        """
        embedder = self._embedder(corpus)
        longest = self._settings.rerank_seconds
        seconds = longest if patience is None else min(patience, longest)
        chosen = [candidate.id for candidate in best_first[: self.best]]
        if not chosen or embedder.dimensions == 0:
            return None
        try:
            return await self._compare_all(embedder, corpus, headline, chosen, seconds)
        except VectorsUnsupported:
            return None
        except TimeoutError:  # the model is not loaded yet, or busy
            if seconds < longest:
                return Compared(similarity={}, model=embedder.name, unfinished=True)
            reason = Message(
                "the best {number} were not embedded within {seconds:g} s; ask again.",
                number=len(chosen),
                seconds=seconds,
            )
            return Compared(similarity={}, model=embedder.name, notice=_not_ordered(reason))
        except (ModelError, UsageError, StorageRights, StorageFull) as error:
            notice = _not_ordered(error.said)
            return Compared(similarity={}, model=embedder.name, notice=notice)

    async def _compare_all(
        self,
        embedder: Embedder,
        corpus: Corpus,
        headline: str,
        chosen: Sequence[int],
        seconds: float,
    ) -> Compared | None:
        """Return the similarities of the texts. Raises TimeoutError if a vector is late."""
        asked = await self._embed_in_time(embedder, corpus, headline, chosen, seconds)
        space = await self._vectors.space(corpus, embedder.name) if any(asked) else None
        if space is None or not (scale := space.scale or SCALES.get(space.model)):
            return None
        cosines = await self._vectors.cosines(corpus, space, asked, chosen)
        # A text that means nothing to the model is similar to nothing.
        similarity = {
            document_id: scale.calibrate(cosines[document_id]) if document_id in cosines else 0.0
            for document_id in chosen
        }
        return Compared(similarity=similarity, model=embedder.name, cosines=cosines)

    async def _embed_in_time(
        self,
        embedder: Embedder,
        corpus: Corpus,
        headline: str,
        chosen: Sequence[int],
        seconds: float,
    ) -> Vector:
        """Return the vector of the headline once all texts have one.

        Embedding that has begun goes on after a TimeoutError, for the next search.
        """
        begun = asyncio.Event()
        task = asyncio.create_task(self._embed(embedder, corpus, headline, chosen, begun))
        self._work.add(task)
        task.add_done_callback(self._forget)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(task)
        finally:
            if not begun.is_set():
                task.cancel()

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._work.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be waiting for it

    async def _embed(
        self,
        embedder: Embedder,
        corpus: Corpus,
        headline: str,
        chosen: Sequence[int],
        begun: asyncio.Event,
    ) -> Vector:
        """Return the vector of the headline; make and store those that the texts lack."""
        async with self._alone:
            begun.set()
            asked = await embedder.embed_query(headline[:_LONGEST_QUESTION])
            if not any(asked):
                return asked
            model_id = await self._vectors.prepare(embedder.name, len(asked))
            missing = await self._vectors.find_unembedded(corpus, model_id, chosen)
            in_order = sorted(missing, key=lambda document: chosen.index(document.id))
            for some in batches(in_order, _AT_ONCE):
                vectors = await embed_batch(embedder, some)
                await self._vectors.store(corpus, model_id, vectors)
        return asked


def _not_ordered(reason: Message) -> Message:
    return Message("Ordered by words alone: {reason}", reason=reason)

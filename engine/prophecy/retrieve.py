"""Candidates for a headline: found by words, by meaning, or by both (decision 14), and by phrases
that a model names (decision 25)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.embed.scales import SCALES, WORD_COUNTERS
from engine.errors import ModelError
from engine.messages import Message
from engine.ports import Descriptions, Embedder, SearchIndex, VectorIndex
from engine.prophecy.expand import Phrases
from engine.prophecy.fuse import LEXICAL, SEMANTIC, PhraseList, Proposal, proposals
from engine.ranking.fuse import fused
from engine.text.clean import searchable
from engine.types import Candidate, Corpus, Expansion, Filters, Mode, Term
from engine.vectors import Vector, VectorSpace

_LONGEST_QUESTION = 1000  # characters
_NO_EMBEDDINGS = Message("Searched by words alone: no embeddings are set up.")
_PATIENCE = 10.0  # seconds for the vector of a headline
# Near-identical texts are counted once later on: so many are proposed for each that is wanted.
_SPARE = 2
_NEAR_AT_ONCE = 2  # phrases whose neighbours are looked for: each reads all vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a search by meaning needs. `embedder` returns the one for a corpus."""

    embedder: Callable[[Corpus], Embedder]
    vectors: VectorIndex
    descriptions: Descriptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What was found, best first, and how."""

    terms: Sequence[Term]
    candidates: Sequence[Candidate]
    mode: Mode = Mode.LEXICAL
    model: str | None = None  # whose vectors were compared
    notice: Message | None = None  # why it is not as it was asked for
    expansion: Expansion


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The text as a vector, and the vectors that it can be compared with."""

    corpus: Corpus
    space: VectorSpace
    vector: Vector
    vectors: VectorIndex
    embedder: Embedder

    async def about(self, text: str) -> "_Question | None":
        """Return the question with another text, or None where that has no vector."""
        vector = await _embedded(self.embedder, text)
        if isinstance(vector, Message) or not any(vector) or len(vector) != len(self.vector):
            return None
        return replace(self, vector=vector)

    async def nearest(self, filters: Filters, limit: int) -> dict[int, float]:
        """Return the cosines of the nearest documents, nearest first."""
        return dict(
            await self.vectors.nearest(self.corpus, self.space, self.vector, filters, limit)
        )

    async def cosines(self, ids: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of each of `ids` that has a vector."""
        if not ids:
            return {}
        return await self.vectors.cosines(self.corpus, self.space, self.vector, ids)

    def similarity(self, cosine: float | None) -> float | None:
        """Return what a cosine means, 0..1, or None when it is not known.

        A corpus too small to have a scale of its own goes by the model's.
        """
        scale = self.space.scale or SCALES.get(self.space.model)
        return None if scale is None or cosine is None else scale.calibrated(cosine)


class Retriever:
    """Proposes candidates: `limit` by words, and as many by meaning.

    With phrases it is `limit_with_phrases` for the judge, and some to spare.
    """

    def __init__(
        self,
        index: SearchIndex,
        meaning: Meaning | None,
        *,
        limit: int,
        phrases: Phrases | None = None,
        limit_with_phrases: int = 80,
    ) -> None:
        self._index = index
        self._meaning = meaning
        self._phrases = phrases
        self._limit = limit
        self._limit_with_phrases = limit_with_phrases

    async def retrieve(
        self,
        corpus: Corpus,
        text: str,
        filters: Filters,
        mode: Mode | None,
        expansion: Awaitable[Expansion] | None = None,
    ) -> Retrieved:
        """Return candidates for `text`; `mode` None is hybrid where there are vectors.

        Where meaning was asked for and is not to be had, words answer and the notice says why.
        `expansion` may be under way still. Raises the errors of the search index and
        SettingsError, and what `expansion` raises.
        """
        terms = await self._index.terms(corpus, searchable(text))
        by_words, question = await asyncio.gather(
            self._index.top(corpus, terms, filters, self._limit),
            self._question(corpus, text, mode),
        )
        notice = None
        if isinstance(question, Message):
            question, notice = None, question
        proposing = None if mode is Mode.RERANK else question
        near = await proposing.nearest(filters, self._limit) if proposing else {}
        expanded = await expansion if expansion else Expansion()
        # Counted words find by words once more, and less well.
        means = proposing and proposing.space.model not in WORD_COUNTERS
        asked = await self._asked(corpus, expanded.phrases, filters, proposing if means else None)
        joined = proposals({LEXICAL: [one.id for one in by_words], SEMANTIC: list(near)}, asked)
        if asked:
            joined = joined[: _SPARE * self._limit_with_phrases]
        candidates = await self._described(corpus, terms, joined, by_words)
        if question:
            candidates = await _compared(question, near, candidates, reorder=proposing is None)
        return Retrieved(
            terms=terms,
            candidates=candidates,
            mode=(mode or Mode.HYBRID) if question else Mode.LEXICAL,
            model=question.space.model if question else None,
            notice=notice,
            expansion=expanded,
        )

    async def _question(
        self, corpus: Corpus, text: str, mode: Mode | None
    ) -> _Question | Message | None:
        """Return the question, or None without vectors to compare it with.

        Where meaning was asked for, or the model failed, a notice takes the place of None.
        """
        wanted = mode not in (None, Mode.LEXICAL)
        meaning = None if mode is Mode.LEXICAL else self._meaning
        embedder = meaning.embedder(corpus) if meaning else None
        if meaning is None or embedder is None or embedder.dimensions == 0:
            return _NO_EMBEDDINGS if wanted else None
        vectors = meaning.vectors
        space = await vectors.space(corpus, embedder.name)
        if space is None:
            none = Message(
                "Searched by words alone: {corpus} has no vectors yet.", corpus=corpus.name
            )
            return none if wanted else None
        vector = await _embedded(embedder, text)
        if isinstance(vector, Message):
            return vector
        if not any(vector):  # it says nothing that the model knows
            return None
        if len(vector) != space.dimensions:
            return Message(
                "Searched by words alone: {model} has changed the length of its vectors.",
                model=embedder.name,
            )
        return _Question(
            corpus=corpus, space=space, vector=vector, vectors=vectors, embedder=embedder
        )

    async def _asked(
        self, corpus: Corpus, phrases: Sequence[str], filters: Filters, question: _Question | None
    ) -> list[PhraseList]:
        """Return a list by words for each phrase, and one by meaning where there is a question."""
        if not phrases or self._phrases is None:
            return []
        limit, turns = self._limit_with_phrases, asyncio.Semaphore(_NEAR_AT_ONCE)

        async def near(phrase: str) -> list[int]:
            async with turns:
                asked = await question.about(phrase) if question else None
                return list(await asked.nearest(filters, limit)) if asked else []

        by_words, by_meaning = await asyncio.gather(
            self._phrases.index.ranked(corpus, phrases, filters, limit),
            asyncio.gather(*map(near, phrases)),
        )
        return list(zip([*phrases, *phrases], [*by_words, *by_meaning], strict=True))

    async def _described(
        self,
        corpus: Corpus,
        terms: Sequence[Term],
        joined: Sequence[Proposal],
        by_words: Sequence[Candidate],
    ) -> list[Candidate]:
        """Return the candidates that still exist, each with who proposes it."""
        known = {one.id: one for one in by_words}
        source = self._phrases or self._meaning
        strangers = [one.id for one in joined if one.id not in known]
        if source and strangers:
            described = await source.descriptions.described(corpus, terms, strangers)
            known |= {one.id: one for one in described}
        return [
            replace(known[one.id], ranks=one.ranks, asked_for=one.asked_for)
            for one in joined
            if one.id in known
        ]


async def _compared(
    question: _Question,
    near: Mapping[int, float],
    candidates: Sequence[Candidate],
    *,
    reorder: bool,
) -> list[Candidate]:
    """Return candidates with their similarity; with `reorder` in an order that follows it too."""
    known = {one.id: one for one in candidates}
    cosines = {**near, **await question.cosines([one for one in known if one not in near])}
    order = list(known)
    if reorder:
        order = fused([order, sorted(cosines, key=lambda one: -cosines[one])])
    return [replace(known[one], similarity=question.similarity(cosines.get(one))) for one in order]


async def _embedded(embedder: Embedder, text: str) -> Vector | Message:
    """Return the vector of a question, or the notice that there is none."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await embedder.embed_query(text[:_LONGEST_QUESTION])
    except ModelError as error:
        return Message("Searched by words alone: {reason}", reason=error.said)
    except TimeoutError:
        return Message(
            "Searched by words alone: the headline was not embedded within {seconds:g} s.",
            seconds=_PATIENCE,
        )

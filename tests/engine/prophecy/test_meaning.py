"""The best few compared by meaning, with a model and vectors in memory."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from engine.errors import (
    ModelUnreachable,
    StorageError,
    StorageRights,
    StorageUnreachable,
    VectorsUnsupported,
)
from engine.prophecy.meaning import HeadlineReranker, Meaning, TunedModel
from engine.prophecy.prophecy import Prophet
from engine.search import Candidate, Filters, Headline, Mode, Prophecy, SearchRequest, Verdict
from engine.settings.searching import ProphecySettings, SearchSettings
from engine.values import Corpus
from engine.vectors import NewVector, Scale, UnembeddedText, Vector, VectorSpace
from tests.engine.candidates import CORPUS, candidate
from tests.engine.prophecy.test_retrieve import Words
from tests.patience import PATIENCE, movable_time

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
BEST_FIRST = [candidate(number) for number in range(1, 7)]


@dataclass
class Model:
    """Its vectors say which text it is; takes `seconds` for each."""

    name: str = "model"
    dimensions: int | None = 2
    seconds: float = 0.0
    error: Exception | None = None
    read: list[str] = field(default_factory=list)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        await asyncio.sleep(self.seconds * len(texts))
        self.read += texts
        return [(float(len(text)), 1.0) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        if self.error:
            raise self.error
        return (0.0, 0.0) if text == "?" else (1.0, 0.0)


@dataclass
class Vectors:
    """What a re-ranking asks for: vectors by id; the similarity of a text is a tenth of its id."""

    kept: dict[int, Vector | None] = field(default_factory=dict)
    refusal: Exception | None = None
    share: float = 0.0
    scale: Scale | None = field(default_factory=lambda: Scale(mean=0.0, deviation=0.0, same=1.0))

    async def prepare(self, model: str, dimensions: int) -> int:
        if self.refusal:
            raise self.refusal
        return 1

    async def find_unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> list[UnembeddedText]:
        missing = [one for one in reversed(ids) if one not in self.kept]
        return [UnembeddedText(id=one, text=f"text {one}", source=str(one)) for one in missing]

    async def store(
        self, corpus: Corpus, model_id: int, embedded: Sequence[NewVector], *, claim: object = None
    ) -> int:
        assert claim is None  # a search waits for nobody
        self.kept |= {one.id: one.vector for one in embedded}
        return len(self.kept)

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        return VectorSpace(
            model_id=1, model=model, dimensions=2, indexed=False, scale=self.scale, share=self.share
        )

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        return {one: one / 10 for one in ids if self.kept.get(one) is not None}

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> list[tuple[int, float]]:
        raise AssertionError("a re-ranking finds nothing new")


def reranker(model: Model, vectors: Vectors, **limits: float) -> HeadlineReranker:
    settings = SearchSettings(rerank_seconds=limits.get("seconds", 10.0))
    best = int(limits.get("best", 24))
    return HeadlineReranker(lambda _: model, cast(Any, vectors), settings, best=best)


async def similarity(
    model: Model, vectors: Vectors, texts: Sequence[Candidate] = BEST_FIRST, **limits: float
) -> dict[int, float]:
    compared = await reranker(model, vectors, **limits).compare(CORPUS, "snow", texts)
    return dict(compared.similarity) if compared else {}


async def test_the_best_few_are_embedded_once_and_kept() -> None:
    model, vectors = Model(), Vectors()
    found = await similarity(model, vectors, best=4)
    assert found == pytest.approx({1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4})
    assert model.read == ["text 1", "text 2", "text 3", "text 4"]
    assert await similarity(model, vectors, best=4) == found
    assert len(model.read) == 4


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.05])
async def test_a_slow_model_gives_the_same_answer_as_a_quick_one(seconds: float) -> None:
    quick = await prophecy(model=Model())
    slow = await prophecy(model=Model(seconds=seconds))
    assert order(slow) == order(quick)
    assert slow.compared == quick.compared == 4


async def test_a_late_vector_leaves_the_order_to_words_until_the_next_search() -> None:
    """All texts are compared or none: a text is never compared because there was time for it."""
    model, vectors = Model(seconds=0.05), Vectors(kept={1: (1.0, 0.0), 2: (1.0, 0.0)})
    shared = reranker(model, vectors, seconds=0.1)
    late = await shared.compare(CORPUS, "snow", BEST_FIRST)
    assert late is not None
    assert not late.similarity
    assert str(late.notice) == (
        "Ordered by words alone: the best 6 were not embedded within 0.1 s; ask again."
    )
    model.seconds = 0.0
    async with asyncio.timeout(PATIENCE):  # what has begun goes on, and the next waits for it
        while (found := await shared.compare(CORPUS, "snow", BEST_FIRST)) is None or found.notice:
            pass
    assert sorted(found.similarity) == [1, 2, 3, 4, 5, 6]
    assert sorted(model.read) == ["text 3", "text 4", "text 5", "text 6"]


async def test_an_impatient_caller_gets_word_order_and_the_next_the_full_comparison() -> None:
    model = Model(seconds=0.05)
    shared = reranker(model, Vectors())
    early = await shared.compare(CORPUS, "snow", BEST_FIRST, patience=0.01)
    assert early is not None
    assert (early.unfinished, early.notice, dict(early.similarity)) == (True, None, {})
    whole = await shared.compare(CORPUS, "snow", BEST_FIRST)
    assert whole is not None
    assert (whole.unfinished, len(whole.similarity)) == (False, 6)
    assert len(model.read) == 6, "what had begun went on"
    again = await shared.compare(CORPUS, "snow", BEST_FIRST, patience=PATIENCE)
    assert again == whole


async def test_vectors_stored_before_the_timeout_are_kept() -> None:
    class HangsAfterOnce(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            self.seconds = 600.0 if self.read else 0.0
            return await super().embed_documents(texts)

    vectors = Vectors()
    texts = [candidate(number) for number in range(1, 21)]
    async with reranker(HangsAfterOnce(), vectors, seconds=60) as shared:
        with movable_time() as move:
            comparing = asyncio.create_task(shared.compare(CORPUS, "snow", texts))
            while not vectors.kept:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0)
            move(60)
            await comparing
    assert sorted(vectors.kept) == list(range(1, 9))  # the first batch


async def test_concurrent_comparisons_wait_no_longer_than_their_timeout() -> None:
    model, vectors = Model(seconds=0.1), Vectors()
    shared = reranker(model, vectors, seconds=0.3)
    asked = [shared.compare(CORPUS, "snow", BEST_FIRST) for _ in range(20)]
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*asked)
    assert asyncio.get_running_loop().time() - began < 3


@pytest.mark.parametrize(
    "error",
    [
        ModelUnreachable("The model is gone."),
        StorageRights("No."),
        StorageUnreachable("No primary."),
    ],
)
async def test_a_failure_gives_a_notice_and_leaves_the_order_unchanged(error: Exception) -> None:
    model = Model(error=error if isinstance(error, ModelUnreachable) else None)
    vectors = Vectors(refusal=error if isinstance(error, StorageError) else None)
    compared = await reranker(model, vectors).compare(CORPUS, "snow", BEST_FIRST)
    assert compared is not None
    assert not compared.similarity
    assert str(error) in str(compared.notice)


async def test_a_model_that_hangs_is_not_waited_for() -> None:
    class Hangs(Model):
        async def embed_query(self, text: str) -> Vector:
            await asyncio.sleep(60)
            raise AssertionError("nobody waits for it")

    async with reranker(Hangs(), Vectors(), seconds=0.01) as shared:
        for asked in range(3):  # the others wait for the first, and no longer than it
            compared = await shared.compare(CORPUS, f"snow {asked}", BEST_FIRST)
            assert compared is not None
            assert "were not embedded within 0.01 s" in str(compared.notice)


async def test_comparing_without_vectors_or_content_returns_nothing() -> None:
    unsupported = Vectors(refusal=VectorsUnsupported("No pgvector."))
    assert await reranker(Model(), unsupported).compare(CORPUS, "snow", BEST_FIRST) is None
    assert await reranker(Model(), Vectors()).compare(CORPUS, "?", BEST_FIRST) is None
    assert await reranker(Model(), Vectors()).compare(CORPUS, "snow", []) is None
    assert await reranker(Model(dimensions=0), Vectors()).compare(CORPUS, "a", BEST_FIRST) is None
    assert await similarity(Model(), Vectors(scale=None)) == {}


BY_WORDS = [
    replace(candidate(number, f"text {number}"), matched={0: 10 - number}, length=9)
    for number in range(1, 7)
]


class Approves:
    """Judges the texts that it is told to."""

    def __init__(self, *ids: int) -> None:
        self.ids = ids

    async def judge(
        self, corpus: Corpus, headline: Headline, candidates: Sequence[Candidate], *, now: datetime
    ) -> Verdict:
        return Verdict(scores=dict.fromkeys(self.ids, 6))


async def prophecy(
    *,
    judge: Approves | None = None,
    mode: Mode | None = None,
    embeds: bool = True,
    share: float = 0.0,
    model: Model | None = None,
) -> Prophecy:
    model, vectors = model or Model(), Vectors(share=share)
    meaning = Meaning(
        embedder=lambda _: model,
        vectors=cast(Any, vectors),
        descriptions=Words(BY_WORDS),
        reranker=reranker(model, vectors, best=4),
    )
    settings = ProphecySettings(similarity=100.0)
    request = SearchRequest(
        headline=Headline(text="snow", original="snow"), limit=6, now=NOW, mode=mode, embeds=embeds
    )
    return await Prophet(Words(BY_WORDS), judge, settings=settings, meaning=meaning).prophesy(
        CORPUS, request
    )


def order(found: Prophecy) -> list[int]:
    return [hit.candidate.id for hit in found.hits]


@pytest.mark.parametrize("share", [0.0, 1.0])
async def test_a_tuned_model_orders_an_answer_whether_or_not_all_is_embedded(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = TunedModel(slope=30.0, zero=0.5, gate=0.15)
    monkeypatch.setattr("engine.prophecy.meaning.TUNED_MODELS", {"model": tuned})

    async def find_none(*_: object) -> list[tuple[int, float]]:
        return []

    monkeypatch.setattr(Vectors, "nearest", find_none)
    found = await prophecy(share=share)
    assert found.mode is (Mode.HYBRID if share else Mode.RERANK)
    assert order(found) == [4, 3, 2]  # of the best four by words; the first is below the gate
    assert order(await prophecy(share=share, judge=Approves(5)))[0] == 5


@dataclass
class SlowToStart(Model):
    """Takes long to start."""

    started: int = 0

    def start(self) -> None:
        self.started += 1


async def test_a_model_starts_with_the_search_if_it_will_be_asked() -> None:
    model = SlowToStart()
    await prophecy(model=model)
    assert model.started == 1
    await prophecy(model=model, judge=Approves(3), mode=Mode.RERANK)
    assert model.started == 2
    for unneeded in ({"embeds": False}, {"judge": Approves(3)}, {"mode": Mode.LEXICAL}):
        await prophecy(model=model, **unneeded)
    assert model.started == 2

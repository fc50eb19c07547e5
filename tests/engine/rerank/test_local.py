"""Passages are put in order on this machine by their words, and by meaning while time allows."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.embed.local import LocalEmbedder
from engine.embed.process import LONGEST
from engine.embed.store import TUNED
from engine.errors import ModelUnreachable, SettingsError
from engine.messages import Message
from engine.rerank import CrossEncoderReranker, MeaningReranker
from engine.vectors import Vector
from tests.engine.embed.libraries import Library, put_library
from tests.engine.passages import scored


class Meanings:
    """An embedder with two meanings: of the sea, and of everything else."""

    name = TUNED
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
    scores = await reranker.rerank("vessel", scored(["nothing here", "many ships came", ""]))
    assert scores == [0.0, pytest.approx(0.3), 0.0]
    scores = await reranker.rerank("vessel", scored(["nothing here", "many ships"], [0.5, 0.1]))
    assert scores == [pytest.approx(0.35), pytest.approx(0.37)]
    assert reranker.name == "bm25+e5"


async def test_stored_vectors_spare_the_model() -> None:
    embedder = Meanings()
    reranker = MeaningReranker(embedder, seconds=60)
    texts = ["one", "two", "three"]
    low, middle, high = await reranker.rerank("ships", scored(texts, [0.5] * 3, [0.6, 0.8, 0.9]))
    assert pytest.approx(0.35) == low < middle < high
    assert embedder.embedded == []
    scores = await reranker.rerank("ships", scored(["x", "many ships"], [0.5] * 2, [0.8]))
    assert embedder.embedded == ["many ships"]
    assert scores[0] < scores[1]


async def test_all_texts_are_compared_or_none_with_an_error() -> None:
    embedder = Meanings(pause=0.3)
    found = scored([f"ships {number}" for number in range(12)])
    reranker = MeaningReranker(embedder, seconds=0.1)
    for tried in (1, 2):  # however slow it was, one is tried again
        with pytest.raises(ModelUnreachable, match=r"12 texts .* 0\.1 s"):
            await reranker.rerank("ships", found)
        assert len(embedder.embedded) == tried


@pytest.mark.slow
async def test_the_shipped_model_finds_what_no_word_tells() -> None:
    texts = [
        "El presidente viajó a Roma.",
        "The port was shut after the storm.",
        "Recipe for soup.",
    ]
    async with LocalEmbedder() as embedder:
        reranker = MeaningReranker(embedder, seconds=60)
        scores = await reranker.rerank("¿Por qué cerró el puerto?", scored(texts))
    assert max(scores) == scores[1]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    return put_library("sentence-transformers", tmp_path, monkeypatch)


async def test_a_cross_encoder_is_loaded_once_and_its_logits_are_scores(library: Library) -> None:
    async with CrossEncoderReranker("some/model") as reranker:
        low, high = await reranker.rerank("many ships", scored(["a fish", "two ships"]))
        assert 0 < low < 0.01 < 0.99 < high < 1
        assert await reranker.rerank("x", []) == []
        await reranker.rerank("\ufdfa", scored(["y" * 5000]))
    assert library.processes == 1
    _, [[pair]] = library.calls("predict")
    assert pair == ["صلى الله عليه وسلم", "y" * LONGEST]


async def test_a_text_that_crashes_the_cross_encoder_scores_zero(library: Library) -> None:
    async with CrossEncoderReranker("some/model") as reranker:
        scores = await reranker.rerank("two ships", scored(["a fish", "crash", "two ships"]))
        assert [round(score, 2) for score in scores] == [0, 0, 1]
        calls = len(library.calls("predict"))
        assert await reranker.rerank("two ships", scored(["crash"])) == [0]
        assert len(library.calls("predict")) == calls


async def test_a_cross_encoder_that_cannot_be_loaded_is_reported(library: Library) -> None:
    async with CrossEncoderReranker("missing") as reranker:
        with pytest.raises(SettingsError, match=r"missing is not .*. Check rerank.model"):
            await reranker.rerank("x", scored(["y"]))


@pytest.mark.parametrize(
    ("model", "said"), [("", "model is empty"), ("some/model", "not installed")]
)
def test_unusable_cross_encoder_settings_are_rejected(model: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        CrossEncoderReranker(model)

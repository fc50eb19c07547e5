"""Passages are put in order on this machine by their words, and by meaning while time allows."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.embed.local import LocalEmbedder
from engine.embed.process import LONGEST
from engine.embed.store import TUNED
from engine.errors import ModelUnreachable, SettingsError
from engine.messages import Message
from engine.rerank import Bm25Reranker, CrossEncoderReranker, MeaningReranker, terms_of
from engine.values import ScoredText
from engine.vectors import Vector
from tests.engine.embed.libraries import Library, put_library
from tests.engine.passages import scored

TEXTS = [
    "The weather stays as it is, says the office for the weather.",
    "The harbours were closed to ships for three days.",
    "A harbour is a place for ships, and this harbour is an old one.",
    "",
]


def test_words_are_compared_without_case_accents_and_endings() -> None:
    assert terms_of("El 5 de 40 de la UE y del ñu") == ["5", "40", "ue", "nu"]
    assert terms_of("Construyó CONSTRUYERON") == ["const", "const"]


async def test_word_reranking_keeps_the_given_scores() -> None:
    reranker = Bm25Reranker()
    assert await reranker.rerank("ships", scored(["ships", "bread"], [0.2, 0.7])) == [0.2, 0.7]
    assert await reranker.rerank("ships", []) == []


SIMILARITY = st.one_of(st.none(), st.floats(-1, 1))
SCORED = st.tuples(st.text(max_size=60), st.floats(0, 1), SIMILARITY)


@given(st.text(max_size=60), st.lists(SCORED, max_size=8))
async def test_scores_lie_between_0_and_1(
    query: str, given: list[tuple[str, float, float | None]]
) -> None:
    texts = [ScoredText(text=text, score=score, cosine=cosine) for text, score, cosine in given]
    scores = await MeaningReranker(Meanings(), seconds=60).rerank(query, texts)
    assert len(scores) == len(texts)
    assert all(0 <= score <= 1 for score in scores)


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


async def test_texts_of_a_corpus_without_vectors_stay_as_they_were_found() -> None:
    embedder = Meanings()
    found = [replace(text, has_peers=False) for text in scored(["x", "many ships"], [0.5, 0.4])]
    assert await MeaningReranker(embedder, seconds=60).rerank("ships", found) == [0.5, 0.4]
    assert embedder.embedded == []


async def test_only_the_beginning_of_a_text_is_compared() -> None:
    embedder = Meanings()
    await MeaningReranker(embedder, seconds=60).rerank("ships", scored(["ships " * 1000]))
    assert [len(text) for text in embedder.embedded] == [300]


async def test_a_failing_model_raises_its_error() -> None:
    with pytest.raises(ModelUnreachable):
        await MeaningReranker(Meanings(fails=True), seconds=1).rerank("ships", scored(TEXTS))


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


async def test_a_cross_encoder_is_loaded_once_and_its_logits_become_scores(
    library: Library,
) -> None:
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

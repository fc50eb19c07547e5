"""`presagio compose`: its JSON as a contract, its refusals."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from tests.bot.command_line import Done
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.fakes.model import ModelServer, failure
from tests.fakes.writer import Writer

PROMPT = "Write a tweet about coffee"
FIELDS: dict[str, type | tuple[type, ...]] = {
    "prompt": str,
    "corpora": list,
    "language": (str, type(None)),
    "variants": list,
    "sources": list,
    "removed": list,
    "steps": list,
    "usage": (dict, type(None)),
    "elapsed_ms": int,
    "prompt_version": str,
    "notice": (str, type(None)),
}


def assert_contract(got: dict[str, Any]) -> None:
    assert set(got) == set(FIELDS)
    for name, kind in FIELDS.items():
        assert isinstance(got[name], kind), name
    assert [one["n"] for one in got["sources"]] == list(range(1, len(got["sources"]) + 1))
    for source in got["sources"]:
        assert {"n", "title", "url", "page", "date", "kind", "quote"} <= set(source)
        assert source["kind"] in {"internal", "web"} and source["quote"]
    for variant in got["variants"]:
        assert {"tweets", "unsupported"} <= set(variant)
        numbers = {source["n"] for source in variant["sources"]}
        assert numbers == set(range(1, len(numbers) + 1))
        for tweet in variant["tweets"]:
            assert 0 < tweet["length"] <= 280
            assert {int(mark) for mark in re.findall(r"\[(\d+)\]", tweet["text"])} <= numbers
    assert all({"text", "why"} == set(one) for one in got["removed"])
    steps = ["retrieve", "gaps", "web", "merge", "evidence", "write", "guard", "check"]
    assert [one["name"] for one in got["steps"]] == steps[: len(got["steps"])]
    assert all({"elapsed_ms", "skipped", "usage"} <= set(one) for one in got["steps"])


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Writer]:
    async with ModelServer() as server:
        writer = Writer()
        server.script = [writer]
        monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", server.base_url)
        yield writer


async def run(*arguments: str) -> Done:
    return await asyncio.to_thread(partial(forked, *arguments))


async def test_variants_differ_and_report_usage_per_step(model: Writer, demo: str) -> None:
    got = (await run("compose", PROMPT, "--variants", "3", "--json")).json
    assert_contract(got)
    assert got["corpora"] == ["demo"]
    texts = [one["tweets"][0]["text"] for one in got["variants"]]
    assert len(texts) >= 2 and len(set(texts)) == len(texts)  # equal ones are shown once
    assert got["usage"]["prompt_tokens"] == 3 * 7000
    assert [one["usage"] is not None for one in got["steps"]] == [False] * 4 + [
        *(True, True, False, True)
    ]


async def test_as_text_with_every_step(model: Writer, demo: str) -> None:
    done = await run("compose", PROMPT, "--explain")
    assert done.code == 0
    assert re.search(r"\[1\]\n\(\d+ of 280 characters\)", done.out)
    assert "evidence: " in done.out and "7,120 tokens" in done.out
    assert "Looking into" not in done.err  # progress is for terminals


@pytest.mark.parametrize("step", ["evidence", "draft"])
async def test_model_failure_exits_1_with_one_line(model: Writer, demo: str, step: str) -> None:
    model.says[step] = failure(400, "no such parameter")
    done = await run("compose", PROMPT)
    assert "Nothing was written: " in done.complaint()
    assert done.err.count("\n") == 1  # no line of a log before it
    done = await run("compose", PROMPT, "--json")
    assert done.code == 1
    assert_contract(json.loads(done.out))
    assert json.loads(done.out)["notice"] in done.err
    done = await run("compose", PROMPT, "--explain")
    assert done.code == 1 and "retrieve: " in done.out


def test_without_a_model_it_refuses_and_offers_ask(invoke: Invoke, demo: str) -> None:
    done = invoke("compose", PROMPT)
    assert done.code == 1
    assert done.err == (
        "presagio: No language model is set up, and without one nothing is written."
        " Ask a question instead: ask answers without a model, in words of the sources.\n"
    )


async def test_compose_works_on_a_corpus_with_vectors(
    model: Writer, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "tfidf")
    assert (await run("embed", "--corpus", "demo")).code == 0
    got = (await run("compose", PROMPT, "--json")).json
    assert_contract(got)
    assert got["variants"]

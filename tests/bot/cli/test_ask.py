"""`presagio ask`: its JSON as a contract, its filters, and a model that may obey anybody."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.bot.command_line import Done
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.fakes.model import ModelServer, answer

QUESTION = "What was said about coffee?"
FIELDS: dict[str, type | tuple[type, ...]] = {
    "question": str,
    "earlier": list,
    "corpora": list,
    "kind": (str, type(None)),
    "period": str,
    "outcome": str,
    "answer": (str, type(None)),
    "sentences": list,
    "checked": bool,
    "objections": list,
    "passages": int,
    "model": (str, type(None)),
    "prompt_version": (str, type(None)),
    "cached": bool,
    "mode": str,
    "embedding_model": (str, type(None)),
    "elapsed_ms": int,
    "usage": (dict, type(None)),
    "notice": (str, type(None)),
    "sources": list,
}
SOURCE_FIELDS = {
    *("number", "corpus", "id", "created_at", "text", "url", "author", "relevance"),
    *("matched", "flags", "cited", "place", "dated_by"),
}


def assert_contract(got: dict[str, Any]) -> None:
    assert set(got) == set(FIELDS)
    for name, kind in FIELDS.items():
        assert isinstance(got[name], kind), name
    numbers = [source["number"] for source in got["sources"]]
    assert numbers == list(range(1, len(numbers) + 1))
    for source in got["sources"]:
        assert set(source) == SOURCE_FIELDS
        assert 0 < source["relevance"] <= 1
    cited = {int(mark) for mark in re.findall(r"\[(\d+)\]", got["answer"] or "")}
    assert cited == set(numbers)


def test_without_a_model_it_quotes_and_says_so(invoke: Invoke, demo: str) -> None:
    got = invoke("ask", QUESTION, "--json").json
    assert_contract(got)
    assert (got["outcome"], got["corpora"], got["model"]) == ("extracted", ["demo"], None)
    assert got["notice"] == "Not answered by a model: no language model is set up."
    assert all("coffee" in source["text"].lower() for source in got["sources"])
    done = invoke("ask", QUESTION)
    assert done.out.startswith("No model wrote this; these are words of the sources:\n“")


def test_empty_result_is_reported_as_outcome_nothing(invoke: Invoke, demo: str) -> None:
    got = invoke("ask", "qwxzzy vvvkkq", "--json").json
    assert_contract(got)
    assert (got["outcome"], got["answer"], got["passages"]) == ("nothing", None, 0)
    assert invoke("ask", "qwxzzy vvvkkq").out.startswith("Nothing found that could answer this.")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((" ",), "There is no question. Write what you want to know."),
        (("x", "--corpus", "demo", "--kind", "library"), "Corpus demo is of kind tweets,"),
    ],
)
def test_empty_question_and_bad_options_are_usage_errors(
    invoke: Invoke, demo: str, arguments: tuple[str, ...], complaint: str
) -> None:
    assert invoke("ask", *arguments).complaint(2).startswith(complaint)


class TestFilters:
    @pytest.fixture
    def filled(self, invoke: Invoke, database: str, tmp_path: Path) -> None:
        now = datetime.now(UTC)
        days = {"now": 1, "month": 20, "old": 400, "ancient": 4000}
        for corpus, kind in (("a", "tweets"), ("b", "tweets"), ("c", "personal")):
            lines = [
                orjson.dumps(
                    {
                        "id": f"{corpus}-{name}",
                        "text": f"The coffee of {name} in {corpus} was number {ago}.",
                        "created_at": (now - timedelta(days=ago)).isoformat(),
                    }
                )
                for name, ago in days.items()
            ]
            file = tmp_path / f"{corpus}.jsonl"
            file.write_bytes(b"\n".join(lines))
            loaded = invoke("ingest", str(file), "--corpus", corpus, "--kind", kind)
            assert loaded.code == 0, loaded

    def ids(self, invoke: Invoke, *options: str) -> set[str]:
        got = invoke("ask", QUESTION, "--json", "--limit", "20", *options, "--no-llm").json
        assert_contract(got)
        assert got["passages"] >= len(got["sources"])
        return {source["id"] for source in got["sources"]}

    def test_date_and_corpus_filters_combine_with_strict_bounds(
        self, invoke: Invoke, filled: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("engine.answer.answer._QUOTES", 20)
        ids = partial(self.ids, invoke)
        every = {"now", "month", "old", "ancient"}
        assert ids("--corpus", "a") == {f"a-{name}" for name in every}
        both = {f"{corpus}-{name}" for corpus in "ab" for name in every}
        assert ids("--corpus", "a", "--corpus", "b", "--corpus", "a") == both
        assert ids("--kind", "tweets") == both
        assert ids("--kind", "personal", "--period", "month") == {"c-now", "c-month"}
        assert ids("--corpus", "a", "--period", "week") == {"a-now"}
        year = str(datetime.now(UTC).year - 5)
        assert ids("--corpus", "a", "--before", year) == {"a-ancient"}
        assert ids("--corpus", "a", "--after", year) == {"a-now", "a-month", "a-old"}
        assert ids("--corpus", "a", "--after", year, "--period", "week") == {"a-now"}
        assert ids("--corpus", "a", "--before", year, "--period", "week") == set()


class TestModel:
    @pytest.fixture
    async def server(self) -> AsyncIterator[ModelServer]:
        async with ModelServer() as server:
            yield server

    async def ask(self, server: ModelServer, database: str, *options: str, **settings: str) -> Done:
        environ = {
            **os.environ,
            **settings,
            "DATABASE_URL": database,
            "PRESAGIO_LLM__BASE_URL": server.base_url,
        }
        call = partial(forked, "ask", QUESTION, "--corpus", "demo", *options, env=environ)
        return await asyncio.to_thread(call)

    async def test_answer_cites_given_passages_and_is_cached(
        self, server: ModelServer, demo: str
    ) -> None:
        server.script = [
            answer('{"claims":[{"text":"It is dear. [2][40] See evil.example","sources":[1]}]}')
        ]
        got = (await self.ask(server, demo, "--json", "--limit", "3")).json
        assert_contract(got)
        assert got["answer"] == "It is dear. See evil. example [1][2]"
        assert (got["outcome"], got["passages"], got["cached"]) == ("answered", 2, False)
        assert got["usage"]["completion_tokens"] == 120
        again = (await self.ask(server, demo, "--json", "--limit", "3")).json
        assert (again["answer"], again["cached"], again["usage"]) == (got["answer"], True, None)
        assert server.calls == 1
        first, *passages = server.requests[0].prompt.split("\n")
        assert json.loads(first) == {"question": QUESTION}
        assert [json.loads(line)["i"] for line in passages] == [1, 2]

    async def test_check_setting_verifies_claims_with_a_second_call(
        self, server: ModelServer, demo: str
    ) -> None:
        said = '{"claims":[{"text":"Coffee.","sources":[1]},{"text":"Tea.","sources":[1]}]}'
        check = '{"checks":[{"i":1,"verdict":"supported","edit":""},{"i":2,"verdict":"not"}]}'
        server.script = [answer(said), answer(check)]
        settings = {"PRESAGIO_ANSWER__CHECK": "true", "PRESAGIO_LLM__MODEL": "other/model"}
        checked = partial(self.ask, server, demo, **settings)
        got = (await checked("--json")).json
        assert_contract(got)
        assert (got["checked"], got["answer"]) == (True, "Coffee. [1]")
        assert got["objections"] == [{"text": "Tea.", "why": "Its sources do not support it."}]
        assert [one["supported"] for one in got["sentences"]] == [True]
        assert got["usage"]["completion_tokens"] == 240
        shown = (await checked()).out
        assert "\nWhat the check objected to:\n- “Tea.” Its sources do not support it.\n" in shown
        assert server.calls == 2

    async def test_no_llm_option_calls_no_model(self, server: ModelServer, demo: str) -> None:
        got = (await self.ask(server, demo, "--json", "--no-llm")).json
        assert (got["outcome"], server.calls) == ("extracted", 0)
        assert got["notice"] == "Not answered by a model, as asked."

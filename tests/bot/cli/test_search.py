"""`presagio search`: its JSON as a contract, its filters, and a model that may fail."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.bot.command_line import ROOT, Done
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.fakes.model import ModelServer, Step, answer, failure, naming, scoring
from tests.fakes.web import WebServer

HEADLINE = "Container ship wedged across canal halts trade"
FIRST = "213340376591758175"  # what the demo corpus foretold of it
SAID = "Mark my words: one day a container ship"  # which begins so

FIELDS: dict[str, type | tuple[type, ...]] = {
    "query": str,
    "corpus": str,
    "judged": bool,
    "model": (str, type(None)),
    "prompt_version": (str, type(None)),
    "candidates": int,
    "elapsed_ms": int,
    "usage": (dict, type(None)),
    "notice": (str, type(None)),
    "hits": list,
    "near": list,
}
HIT_FIELDS: dict[str, type | tuple[type, ...]] = {
    "rank": int,
    "id": str,
    "created_at": str,
    "age": str,
    "text": str,
    "url": (str, type(None)),
    "author": (str, type(None)),
    "score": float,
    "parts": dict,
    "matched": list,
    "flags": list,
}


def assert_contract(found: dict[str, Any]) -> None:
    for name, kind in FIELDS.items():
        assert isinstance(found[name], kind), name
    for hit in (*found["hits"], *found["near"]):
        for name, kind in HIT_FIELDS.items():
            assert isinstance(hit[name], kind), name
        assert set(hit["parts"]) == {"judgment", "lexical", "age", "semantic"}
        assert all(part is None or 0 <= part <= 1 for part in hit["parts"].values())
        assert 0 < hit["score"] <= 1
        assert datetime.fromisoformat(hit["created_at"]).utcoffset() == timedelta(0)
    assert [hit["rank"] for hit in found["hits"]] == list(range(1, len(found["hits"]) + 1))
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_search_without_embeddings_prints_one_installation_hint(
    invoke: Invoke, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "auto")
    monkeypatch.setattr("engine.embed.local.find_spec", lambda _: None)
    (line,) = [line for line in invoke("search", HEADLINE).err.splitlines() if "alone" in line]
    assert line.startswith("By words alone")
    assert "local]" in line
    assert "By words alone" not in invoke("search", "???").err  # nothing was shown
    for option in ("--json", "--mode=lexical"):
        assert "By words alone" not in invoke("search", HEADLINE, option).err
    monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "null")  # as somebody chose
    assert "By words alone" not in invoke("search", HEADLINE).err


class TestJson:
    def test_json_has_the_documented_fields_and_types(self, invoke: Invoke, demo: str) -> None:
        found = invoke("search", HEADLINE, "--json").json
        assert_contract(found)
        assert (found["query"], found["corpus"]) == (HEADLINE, "demo")
        assert (found["judged"], found["model"], found["usage"]) == (False, None, None)
        assert found["notice"] == "Not judged: no language model is set up."
        assert len(found["hits"]) == 3
        assert found["candidates"] > 3
        first = found["hits"][0]
        assert (first["id"], first["author"]) == (FIRST, "CapNereoPike")
        assert first["url"] == f"https://example.org/CapNereoPike/{FIRST}"
        assert first["parts"]["judgment"] is None
        assert {"Container", "ship", "canal"} <= set(first["matched"])

    def test_empty_result_has_all_fields(self, invoke: Invoke, demo: str) -> None:
        found = invoke("search", "qwxzzy vvvkkq", "--json").json
        assert_contract(found)
        assert (found["hits"], found["candidates"]) == ([], 0)


@pytest.mark.usefixtures("demo")
class TestFilters:
    def dates(
        self, invoke: Invoke, *options: str, headline: str = "ship bank river coffee"
    ) -> Sequence[str]:
        command = ("search", headline, "--json", "--limit", "1000")
        return [hit["created_at"] for hit in invoke(*command, *options).json["hits"]]

    @pytest.mark.parametrize(
        ("typed", "options"),
        [
            ("before:2011", ["--before", "2011"]),
            ("after:2014-03", ["--after", "2014-03"]),
            ("date:2012-12-24", ["--date", "2012-12-24"]),
            ("exclude-recent:150", ["--exclude-recent", "150"]),
        ],
    )
    def test_filters_typed_in_the_headline_equal_the_options(
        self, invoke: Invoke, typed: str, options: Sequence[str]
    ) -> None:
        found = self.dates(invoke, headline=f"ship bank river coffee {typed}")
        assert found == self.dates(invoke, *options) != self.dates(invoke)
        assert found

    def test_typed_filters_and_options_combine(self, invoke: Invoke) -> None:
        typed = "rain bank river coffee quay before:2014"
        assert max(self.dates(invoke, "--before", "2012", headline=typed)) < "2012"
        assert "2013" < max(self.dates(invoke, "--before", "2020", headline=typed)) < "2014"
        complaint = invoke("search", typed, "--after", "2016").complaint(2)
        assert complaint.startswith("There is no time from 2016-01-01 to 2014-01-01.")
        assert "'2011-13' is not a date" in invoke("search", "x before:2011-13").complaint(2)

    def test_the_last_months_before_the_headline_are_left_out(self, invoke: Invoke) -> None:
        dates = self.dates(invoke, "--date", "2016", "--exclude-recent", "12")
        assert dates
        assert max(dates) < "2015-01-02" < max(self.dates(invoke, "--date", "2016"))

    def test_what_excludes_everything_leaves_no_results(self, invoke: Invoke) -> None:
        done = invoke("search", HEADLINE, "--before", "2001")
        assert done.code == 0
        assert "No results" in done.out


class TestLink:
    @pytest.fixture(autouse=True)
    def _allowed(self, demo: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PRESAGIO_FETCH__ALLOW_NETWORKS", '["127.0.0.0/8"]')

    async def test_missing_page_is_reported_with_its_status(self) -> None:
        async with WebServer() as site:
            done = await search(site.url("/gone"))
        assert "404" in done.complaint()

    def test_unreachable_link_is_reported_with_its_host(self, invoke: Invoke) -> None:
        said = invoke("search", "http://127.0.0.1:1/").complaint()
        assert "127.0.0.1" in said


class TestCorpus:
    @pytest.fixture
    def fill(self, invoke: Invoke, database: str, tmp_path: Path) -> Any:
        def fill(*names: str) -> None:
            record = {"id": "1", "text": "A ship.", "created_at": "2012-03-04T10:00:00Z"}
            (tmp_path / "a").write_bytes(orjson.dumps(record))
            for name in names:
                assert invoke("ingest", str(tmp_path / "a"), "--corpus", name).code == 0

        return fill

    def test_several_corpora_require_a_choice(
        self, invoke: Invoke, fill: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill("demo", "me", "you")
        complaint = invoke("search", "ship").complaint()
        assert complaint.startswith("There are several corpora: me, you. Name one with --corpus")
        assert invoke("search", "ship", "--corpus", "demo", "--json").json["corpus"] == "demo"
        monkeypatch.setenv("PRESAGIO_SEARCH__CORPUS", "you")
        assert invoke("search", "ship", "--json").json["corpus"] == "you"
        assert "There is no corpus 'she'." in invoke("search", "x", "--corpus", "she").complaint()


def canal(_headline: str, candidate: dict[str, Any]) -> int:
    """Judge as a reader would who cares for canals only."""
    return 6 if "canal" in candidate["text"] else 0


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    """A model that judges well, which commands of this test ask."""
    async with ModelServer([scoring(canal)]) as server:
        monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", server.base_url)
        yield server


@pytest.fixture
def bundled(invoke: Invoke, database: str) -> None:
    """The demo corpus in a database of the test's own: judgments are kept there."""
    assert invoke("ingest", str(ROOT / "examples" / "demo.jsonl"), "--corpus", "demo").code == 0


async def search(*arguments: str) -> Done:
    """Run it in a process of its own while the model answers here."""
    return await asyncio.to_thread(forked, "search", *arguments)


@pytest.mark.usefixtures("bundled")
class TestModel:
    async def test_judgment_is_made_once_and_cached(self, model: ModelServer) -> None:
        found = (await search(HEADLINE, "--json")).json
        assert_contract(found)
        assert (found["judged"], found["model"]) == (True, "stand-in/model")
        assert found["prompt_version"]
        assert found["usage"] == {
            "prompt_tokens": 7000,
            "completion_tokens": 120,
            "cost_usd": 0.002,
        }
        assert [hit["parts"]["judgment"] for hit in found["hits"]] == [1.0, 1.0, 1.0]
        assert model.calls == 1
        again = (await search(HEADLINE, "--json")).json
        assert again["judged"]
        assert (again["cached"], again["usage"]) == (True, None)
        assert again["hits"] == found["hits"]
        assert model.calls == 1

    async def test_phrases_from_the_model_are_reported_with_their_cost(
        self, model: ModelServer
    ) -> None:
        model.script = [scoring(lambda _, shown: 6 * ("soup" in shown["text"].lower()))]
        model.phrases = naming("soup again", usage={"prompt_tokens": 300})
        found = (await search(HEADLINE, "--json")).json
        assert_contract(found)
        assert found["phrases"] == ["soup again"]
        assert found["usage"]["prompt_tokens"] == 7300
        assert any("soup again" in hit["asked_for"] for hit in found["hits"])
        done = await search(HEADLINE, "--explain")
        assert "asked for: 'soup again'" in done.out
        assert "1. score " in done.out
        assert (model.calls, len(model.expansions)) == (1, 1)

    async def test_no_llm_option_calls_no_model(self, model: ModelServer) -> None:
        found = (await search(HEADLINE, "--no-llm", "--json")).json
        assert (found["judged"], found["notice"]) == (False, "Not judged, as asked.")
        assert model.calls == 0

    @pytest.mark.parametrize(
        ("step", "said"),
        [
            (failure(503), "Not judged"),
            (failure(401), "OPENROUTER_API_KEY"),
            (answer("I would rather not."), "nothing that can be read"),
        ],
        ids=["dead", "refusing", "babbling"],
    )
    async def test_model_failure_gives_an_unjudged_answer_with_a_notice(
        self, model: ModelServer, monkeypatch: pytest.MonkeyPatch, step: Step, said: str
    ) -> None:
        monkeypatch.setenv("PRESAGIO_LLM__RETRIES", "0")
        model.script = [step]
        done = await search(HEADLINE, "--json")
        assert_contract(done.json)
        assert done.json["judged"] is False
        assert said in done.json["notice"]
        assert done.json["hits"][0]["id"] == FIRST
        assert done.json["hits"][0]["parts"]["judgment"] is None


def test_each_line_of_standard_input_is_a_headline(demo: str) -> None:
    said = f"{HEADLINE} date:2021-03-28\r\n\n  Bread prices rise\n".encode()
    first, second = forked("search", "-", "--json", "--no-llm", stdin=said).json_lines
    assert (first["query"], first["date"][:10]) == (HEADLINE, "2021-03-28")
    assert first["hits"][0]["id"] == FIRST
    assert second["query"] == "Bread prices rise"
    assert "holds no headline" in forked("search", "-").complaint(2)

"""The JSON of a prophecy keeps its names and survives a round trip."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.replies.prophecy import prophecy_answer
from engine.messages import as_message
from engine.search import Expansion, Mode, Prophecy, Verdict
from engine.values import Flag, Usage
from tests.bot.prophecies import JUDGED, NOW, UNJUDGED, make_hit, make_prophecy

CONTRACT = {
    "query", "corpus", "judged", "model", "prompt_version", "candidates", "elapsed_ms",
    "usage", "notice", "hits",
}  # fmt: skip
CONTRACT_HIT = {
    "rank", "id", "created_at", "age", "text", "url", "author", "score", "parts",
    "matched", "flags",
}  # fmt: skip


def printed(prophecy: Prophecy, elapsed_ms: float = 12.6) -> dict[str, Any]:
    text = json.dumps(prophecy_answer(prophecy, now=NOW, elapsed_ms=elapsed_ms).to_json())
    result: dict[str, Any] = json.loads(text)
    return result


def test_a_judged_prophecy() -> None:
    hit = make_hit(flags=Flag.REPOST | Flag.TRUNCATED, factors={"repost": 0.5}, text="Café ☕")
    date = datetime(2020, 1, 1, tzinfo=UTC)
    assert printed(make_prophecy(hit, original="Coffee prices soar - BBC", date=date)) == {
        "query": "Coffee prices soar - BBC",
        "headline": "Coffee prices soar",
        "date": "2020-01-01T00:00:00+00:00",
        "corpus": "demo",
        "judged": True,
        "model": "openai/gpt-5-mini",
        "prompt_version": "3",
        "cached": False,
        "mode": "lexical",
        "embedding_model": None,
        "compared": 0,
        "candidates": 4,
        "coverage": 0.61,
        "elapsed_ms": 13,
        "phrases": [],
        "phrases_ms": None,
        "phrases_late": False,
        "usage": {"prompt_tokens": 4321, "completion_tokens": 56, "cost_usd": 0.00123},
        "notice": None,
        "hits": [
            {
                "rank": 1,
                "id": "9007199254740993",
                "created_at": "2014-03-01T09:00:00+00:00",
                "dated_by": None,
                "age": "5 years, 9 months before",
                "text": "Café ☕",
                "place": None,
                "url": "https://x.com/ana/status/9007199254740993",
                "author": "ana",
                "corpus": None,
                "score": 0.8346,
                "parts": {"judgment": 1.0, "lexical": 0.4242, "age": 0.9, "semantic": None},
                "factors": {"repost": 0.5},
                "matched": ["coffee", "prices"],
                "why": None,
                "kind": "prediction",
                "sureness": "foretold",
                "proposed_by": {},
                "asked_for": {},
                "flags": ["repost", "truncated"],
            }
        ],
        "near": [],
    }


def test_json_of_hybrid_search_has_model_and_proposing_lists() -> None:
    hit = make_hit()
    found = replace(hit, candidate=replace(hit.candidate, ranks={"lexical": 2, "semantic": 7}))
    prophecy = replace(make_prophecy(found), mode=Mode.HYBRID, embedding_model="m-small")
    result = printed(prophecy)
    assert (result["mode"], result["embedding_model"]) == ("hybrid", "m-small")
    assert result["hits"][0]["proposed_by"] == {"lexical": 2, "semantic": 7}


def test_json_has_the_phrases_and_the_summed_usage() -> None:
    hit = make_hit()
    hit = replace(hit, candidate=replace(hit.candidate, asked_for={"pump prices": 3}))
    spent = Usage(prompt_tokens=300)
    named = Expansion(phrases=("pump prices", "OPEC"), usage=spent, seconds=0.84)
    result = printed(replace(make_prophecy(hit), expansion=named))
    assert result["phrases"] == ["pump prices", "OPEC"]
    assert result["phrases_ms"] == 840
    assert result["hits"][0]["asked_for"] == {"pump prices": 3}
    assert result["usage"] == {
        "prompt_tokens": 4621,
        "completion_tokens": 56,
        "cost_usd": 0.00123,
    }
    cached = replace(make_prophecy(hit), verdict=replace(JUDGED, cached=True, usage=None))
    assert printed(cached)["usage"] is None


def test_an_unjudged_prophecy_says_so() -> None:
    hit = make_hit(parts={"judgment": None, "lexical": 0.5, "age": 0.1})
    verdict = Verdict(
        scores={}, notice=as_message("Not judged: no key."), usage=Usage(prompt_tokens=9)
    )
    result = printed(make_prophecy(hit, verdict=verdict))
    assert result["judged"] is False
    assert result["model"] is None
    assert result["notice"] == "Not judged: no key."
    assert result["usage"] == {"prompt_tokens": 9, "completion_tokens": None, "cost_usd": None}
    [shown] = result["hits"]
    assert shown["parts"] == {"judgment": None, "lexical": 0.5, "age": 0.1, "semantic": None}


def test_json_near_hits_have_no_sureness_and_hits_have_reasons() -> None:
    prophecy = make_prophecy(replace(make_hit(), why="he said so"), near=(make_hit(2),))
    result = printed(prophecy)
    assert [hit["why"] for hit in (*result["hits"], *result["near"])] == ["he said so", None]
    assert [hit["sureness"] for hit in (*result["hits"], *result["near"])] == ["foretold", None]


def test_json_of_an_empty_result_has_all_fields() -> None:
    result = printed(make_prophecy(verdict=UNJUDGED, candidates=()))
    assert set(result) >= CONTRACT
    assert (result["hits"], result["candidates"], result["usage"]) == ([], 0, None)


def test_a_hit_has_every_name() -> None:
    [shown] = printed(make_prophecy(make_hit()))["hits"]
    assert set(shown) >= CONTRACT_HIT

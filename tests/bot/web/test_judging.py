"""For whom the model judges, and out of whose part of the day's budget."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.query_log import asked_by
from db.logs import Asker, Origin
from db.model_cache import Ledger
from engine.budget import BudgetSource
from engine.prophecy.headline import read_headline
from engine.search import Prophecy, SearchRequest
from tests.bot.web.stage import NOW, WebStage, speaking, web_stage
from tests.fakes.model import ModelServer, scoring
from tests.scenarios.stage import HEADLINE, judged_by_words

CLOSED = "Without a key no model is asked here."
SPENT = "The web page's share of the daily model budget is spent."


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer([scoring(judged_by_words)]) as server:
        yield server


@asynccontextmanager
async def judged_web(url: str, model: ModelServer, **settings: str) -> AsyncIterator[WebStage]:
    environ = {"DATABASE_URL": url, "PRESAGIO_LLM__BASE_URL": model.base_url}
    async with web_stage(environ | settings) as stage:
        yield stage


async def spent_by(stage: WebStage) -> set[BudgetSource]:
    return set(await Ledger(stage.app.database).spent(NOW.date()))


async def prophecy_for(stage: WebStage, source: BudgetSource, text: str) -> Prophecy:
    with asked_by(Asker(origin=Origin.CHAT, task="test", source=source)):
        corpus = await stage.app.corpus("")
        return await stage.app.prophet.prophesy(
            corpus, SearchRequest(headline=read_headline(text), limit=3, now=NOW)
        )


async def test_visitors_without_a_key_cause_no_model_call_by_default(
    coffee_url: str, model: ModelServer
) -> None:
    async with judged_web(coffee_url, model) as web:
        answer = await web.json("/api/prophecy", headline=HEADLINE)
        assert (answer["judged"], answer["hits"] != []) == (False, True)
        assert CLOSED in answer["notice"]
        assert CLOSED in (await web.json("/api/ask", question="coffee prices"))["notice"]
        page = await web.get("/prophecy", headline=HEADLINE, date="2024-06-01", corpus="demo")
        assert CLOSED not in page.text and "I cannot judge just now" in page.text
        assert (await web.get("/picture.png", headline=HEADLINE)).status_code == 200
    assert model.calls == 0


async def test_judging_for_visitors_is_charged_to_the_web_budget(
    coffee_url: str, model: ModelServer
) -> None:
    async with judged_web(coffee_url, model, PRESAGIO_WEB__JUDGE="true") as web:
        assert (await web.json("/api/prophecy", headline=HEADLINE))["judged"]
        assert await spent_by(web) == {BudgetSource.WEB}
    assert model.calls == 1


@pytest.mark.parametrize("name", ["WEB_API_KEYS", "WEB_ADMIN_KEYS"])
async def test_with_a_key_the_api_judges(coffee_url: str, model: ModelServer, name: str) -> None:
    async with judged_web(coffee_url, model, **{name: "sesame"}) as web:
        web.client.headers.update(speaking("sesame"))
        assert (await web.json("/api/prophecy", headline=HEADLINE))["judged"]
        assert await spent_by(web) == {BudgetSource.API}
    assert model.calls == 1


async def test_spent_budget_share_leaves_the_other_shares(
    coffee_url: str, model: ModelServer
) -> None:
    limits = {
        "PRESAGIO_WEB__JUDGE": "true",
        "PRESAGIO_LLM__DAILY_TOKENS": "60000",  # a judgment takes 7,120
        "PRESAGIO_LLM__WEB_SHARE": "0.1",
        "PRESAGIO_LLM__CHAT_SHARE": "0.2",
        "PRESAGIO_LLM__POSTS_RESERVE": "0.5",
    }
    headlines = [f"{HEADLINE} {number}" for number in range(20)]
    async with judged_web(coffee_url, model, **limits) as web:
        assert (await web.json("/api/prophecy", headline=headlines.pop()))["judged"]
        for path, asked in (("/api/prophecy", "headline"), ("/api/ask", "question")):
            answer = await web.json(path, **{asked: headlines.pop()})
            assert SPENT in answer["notice"]
            assert "raise llm.web_share" in answer["notice"]
        assert model.calls == 1
        chats = [await prophecy_for(web, BudgetSource.CHATS, headlines.pop()) for _ in range(3)]
        assert [chat.judged for chat in chats] == [True, True, False]
        posts = [await prophecy_for(web, BudgetSource.POSTS, headlines.pop()) for _ in range(4)]
        assert all(post.judged for post in posts)


async def test_cached_judgment_causes_no_model_call(coffee_url: str, model: ModelServer) -> None:
    async with judged_web(coffee_url, model) as web:
        await prophecy_for(web, BudgetSource.CHATS, HEADLINE)
        assert (await web.json("/api/prophecy", headline=HEADLINE))["judged"]
    assert model.calls == 1

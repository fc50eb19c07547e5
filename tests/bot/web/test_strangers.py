"""What people ask, on the page or in a chat, appears on no page but that of its answer; what the
bot posted from feeds is everybody's, as far as the corpus is."""

import re
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from bot.web.addresses import Addresses
from bot.web.mcp import TOOLS
from db.chat.answers import Answers
from engine.chat import Answer
from engine.prophecy.headline import read_headline
from engine.values import Kind
from tests.bot.kinds import fill, text_of
from tests.bot.prophecies import make_hit, make_prophecy
from tests.bot.web.stage import NOW, WebStage, web_stage
from tests.bot.web.test_feeds import posted
from tests.db.news import configured, met
from tests.scenarios.stage import HEADLINE

WORD = "zugzwang"
STRANGE = f"Coffee prices hit a record high, says {WORD}"
ASKED = {"headline": HEADLINE, "date": "2023-05-04", "corpus": "demo"}

# What is asked at the addresses that need a question; {name}, {corpus} and {id} are those of a
# text.
QUESTIONS: dict[str, dict[str, str]] = {
    "/prophecy": ASKED,
    "/picture.png": ASKED,
    "/ask": {"question": "What is coffee?"},
    "/search": {"q": "coffee"},
    "/api/find": {"query": "coffee"},
    "/api/search": {"q": "coffee"},
    "/api/prophecy": {"headline": HEADLINE},
    "/api/ask": {"question": "What is coffee?"},
}
ARGUMENTS: dict[str, dict[str, str]] = {
    "search": {"q": "coffee"},
    "prophecy": {"headline": HEADLINE},
    "find": {"query": "coffee"},
    "ask": {"question": "What is coffee?"},
    "corpora": {},
    "document": {"corpus": "demo", "id": "1"},
}
# Where a post stands that everybody may read.
PUBLIC = ["/", "/corpora/demo", "/docs", "/documents/demo/1", "/feed.json", "/feed.xml"]


def addresses(web: WebStage) -> list[str]:
    """Return a path for every route that answers GET."""
    routes: list[Any] = list(web.application.routes)
    for router in [route for route in routes if hasattr(route, "original_router")]:
        routes += router.original_router.routes
    paths = {route.path for route in routes if "GET" in (getattr(route, "methods", None) or ())}
    named = {"name": "demo", "corpus": "demo", "id": "1", "year": "2012", "month": "3"}
    return sorted(re.sub(":path|:int", "", path).format(**named) for path in paths)


async def holding(web: WebStage, word: str) -> list[str]:
    """Return the paths and tools whose answers hold a word, of all that there are."""
    found = []
    for path in addresses(web):
        answered = await web.get(path, **QUESTIONS.get(path, {}))
        assert answered.status_code == 404 if path.startswith("/media/") else 200, path
        if word in answered.text.lower():
            found.append(path)
    for tool in TOOLS:
        if tool.name != "compose":
            answer = await tool.call(web.shared, ARGUMENTS[tool.name], Addresses())
            found += [tool.name] if word in str(answer).lower() else []
    return found


async def test_every_path_and_tool_is_covered_by_these_tests(coffee_web: WebStage) -> None:
    known = {"/metrics", "/openapi.json", "/robots.txt", "/compose", "/docs"}
    assert {*PUBLIC, *QUESTIONS, *known} <= set(addresses(coffee_web))
    assert {*ARGUMENTS, "compose"} == {tool.name for tool in TOOLS}


async def test_a_headline_asked_on_the_page_stands_on_its_answer_alone(
    coffee_web: WebStage,
) -> None:
    asked = await coffee_web.get("/prophecy", **ASKED | {"headline": STRANGE})
    assert WORD in asked.text
    assert await holding(coffee_web, WORD) == []


async def test_a_headline_asked_and_voted_for_in_a_chat_stands_on_no_page(
    coffee_web: WebStage,
) -> None:
    answers, chat = Answers(coffee_web.app.database), await met(coffee_web.app.database)
    prophecy = make_prophecy(make_hit(), headline=read_headline(STRANGE))
    answer = Answer(prophecy=prophecy, asked_at=NOW, first=0, last=1)
    number = await answers.keep(chat, None, answer)
    stored = await answers.get(chat, number)
    assert stored
    await answers.vote(stored, 1, "test:somebody", 1)
    assert await holding(coffee_web, WORD) == []


async def test_a_post_from_a_feed_of_the_settings_is_public(coffee_web: WebStage) -> None:
    (chosen,) = await posted(coffee_web.app.database, 1)
    assert chosen.hit.candidate.external_id == "1"
    assert await holding(coffee_web, "city0") == PUBLIC


async def test_a_post_from_a_feed_of_one_chat_is_not_public(coffee_web: WebStage) -> None:
    await posted(coffee_web.app.database, 1)
    await configured(coffee_web.app.database)  # the feed is taken out of the settings
    assert await holding(coffee_web, "city0") == []


@pytest.mark.parametrize("corpora", ["[]", '["demo"]'])
async def test_a_post_out_of_a_corpus_that_is_not_shown_is_not_public(
    coffee_url: str, corpora: str
) -> None:
    async with web_stage(coffee_url, corpora=corpora) as web:
        database = web.app.database
        kind = Kind.PERSONAL if corpora == "[]" else Kind.TWEETS
        await fill(database, "diary", kind, [text_of("1", f"Dear {WORD}", days_ago=4000)])
        await posted(database, 1, corpus="diary")
        for word in (WORD, "city0", "diary"):
            assert await holding(web, word) == [], word


async def test_configured_example_headlines_are_shown(coffee_url: str) -> None:
    async with web_stage(coffee_url, examples='["No coffee at high tide"]') as web:
        for path in ("/", "/corpora/demo"):
            page = LexborHTMLParser((await web.get(path)).text)
            assert [link.text() for link in page.css(".examples a")] == ["No coffee at high tide"]

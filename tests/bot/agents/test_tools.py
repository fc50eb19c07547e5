"""Agents search through typed tools, are told of mistakes, and are never fed what is not there."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from bot.agents import search_tools
from bot.app import App, open_app
from bot.query_log import log_of
from bot.settings import load_settings
from db.pool import Database
from tests.bot.kinds import fill_all

TOOLS = ["personal_search", "social_search", "published_search"]


@pytest.fixture
async def app(database: str) -> AsyncIterator[App]:
    async with open_app(load_settings(), progress=print) as opened:
        await fill_all(opened.database)
        yield opened


class Asking:
    """A model that calls one tool with given arguments and then ends."""

    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        self.call = ToolCallPart(tool, arguments)
        self.results: list[Any] = []
        self.tools: dict[str, dict[str, Any]] = {}

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.tools = {tool.name: tool.parameters_json_schema for tool in info.function_tools}
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart | RetryPromptPart):
            self.results.append(last.content)
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[self.call])


async def ask(app: App, tool: str, **arguments: Any) -> Any:
    model = Asking(tool, arguments)
    await Agent(FunctionModel(model), toolsets=[search_tools(app)]).run("Search.")
    return model.results[-1]


async def test_model_receives_tool_schemas_with_names_and_defaults(app: App) -> None:
    model = Asking("personal_search", {"query": "coffee"})
    await Agent(FunctionModel(model), toolsets=[search_tools(app)]).run("Search.")
    assert list(model.tools) == TOOLS
    assert set(model.tools["personal_search"]["properties"]) == {
        "query", "corpus", "limit", "date_from", "date_to", "role", "source", "thread_id", "tags",
    }  # fmt: skip
    assert model.tools["social_search"]["properties"]["limit"]["default"] == 30


async def test_every_tool_takes_what_its_schema_allows(app: App) -> None:
    """The library's own model makes arguments up from the schemas, and answers with what came."""
    agent = Agent(TestModel(call_tools="all"), toolsets=[search_tools(app)], retries=1)
    result = await agent.run("Search everywhere.")
    returned = [
        part.tool_name
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert sorted(returned) == sorted(TOOLS)


async def test_social_search_returns_typed_hits_with_filters_and_comments(app: App) -> None:
    found = await ask(app, "social_search", query="coffee", platform="mastodon", comments=1)
    by_id = {hit.post_id: hit for hit in found.items}
    assert set(by_id) == {"p1", "p2"}
    assert {hit.platform for hit in found.items} == {"mastodon"}
    assert [comment.text for comment in by_id["p1"].comments] == ["I disagree"]
    assert found.filters == ("platform:mastodon",)


async def test_search_without_a_match_returns_no_items_and_a_notice(app: App) -> None:
    found = await ask(app, "personal_search", query="xylophone")
    assert (found.items, found.notice) == ((), 'No text says "xylophone".')


async def test_a_corpus_that_is_not_there_is_told_to_the_model(app: App) -> None:
    said = await ask(app, "personal_search", query="coffee", corpus="nowhere")
    assert said.startswith("There is no corpus 'nowhere'. There are: articles, chats, posts.")


async def test_a_corpus_of_another_kind_is_not_searched(app: App) -> None:
    said = await ask(app, "published_search", query="coffee", corpus="chats")
    assert said.startswith("Corpus chats is of kind personal, not published or library.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"date_from": "2020-02-30"}, "date_from"),
        ({"date_from": "2020-02-02", "date_to": "2020-02-01"}, "date_to is before date_from"),
        ({"limit": 1000}, "limit"),
        ({"platform": "x"}, "platform"),
        ({"source": ""}, "no value for the filter platform"),
    ],
)
async def test_a_wrong_argument_is_told_to_the_model(
    app: App, arguments: dict[str, Any], said: str
) -> None:
    answer = await ask(app, "personal_search", query="coffee", **arguments)
    assert said in str(answer)


async def test_each_search_is_logged_under_the_run(app: App) -> None:
    await ask(app, "published_search", query="coffee", domain="example.org")
    log = log_of(app.database, app.settings)
    [entry] = await log.recent(now=datetime.now(UTC), limit=10)
    assert (entry.origin, entry.job, entry.corpus) == ("agent", "find", "articles")
    assert (entry.query, entry.returned) == ("coffee domain:example.org", ("a1",))
    assert entry.task


async def test_a_database_that_is_gone_ends_the_run(app: App, database: str) -> None:
    from engine.errors import StorageError

    gone = await Database.open(database)
    await gone.close()
    broken = App(**{**{name: getattr(app, name) for name in app.__slots__}, "database": gone})
    with pytest.raises(StorageError):
        await ask(broken, "personal_search", query="coffee")

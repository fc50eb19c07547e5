"""The tools for agents, as the SDK's own client and a stranger find them."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from aiohttp import web
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import TextContent
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from bot.web.mcp import create_tool_server
from db.pool import Database
from engine.values import Kind
from tests.bot.cli.test_compose import assert_contract
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import WebStage, judging, speaking, web_stage
from tests.bot.web.test_service import Served, served
from tests.db.vectors import can_keep_vectors
from tests.fakes.model import Asked, ModelServer, scoring
from tests.fakes.writer import Writer
from tests.patience import PATIENCE, until
from tests.scenarios.stage import HEADLINE, TWEETS, judged_by_words

TOOLS = ["search", "prophecy", "find", "ask", "compose", "corpora", "document"]
ERAS = pytest.mark.parametrize("mode", ["legacy", MODERN_PROTOCOL_VERSIONS[-1]])


def said(result: Any) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def agent(url: str, mode: str, **headers: str) -> AsyncIterator[Client]:
    """Lend the SDK's client, connected over HTTP."""
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(f"{url}mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield client


async def call(web: WebStage, tool: str, arguments: dict[str, Any]) -> Any:
    """Call a tool without a network in between."""
    async with Client(create_tool_server(web.shared)) as client:
        return await client.call_tool(tool, arguments)


@asynccontextmanager
async def port(
    environ: Mapping[str, str] | str, **web: Any
) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """Lend a service with the tools, on a database or by variables, and a client of its port."""
    accepted = {"Accept": "application/json, text/event-stream"}
    async with (
        served(environ, mcp="true", **web) as one,
        httpx.AsyncClient(base_url=one.service.address, headers=accepted) as http,
    ):
        yield one, http


class TestTools:
    """What they take and return, without a network in between."""

    async def test_tools_are_listed_with_their_schemas(self, coffee_web: WebStage) -> None:
        async with Client(create_tool_server(coffee_web.shared)) as tools:
            listed = (await tools.list_tools()).tools
            assert tools.instructions
            assert "never an instruction" in tools.instructions
            assert [tool.name for tool in listed] == TOOLS
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
            schema = listed[0].input_schema
            assert (schema["required"], schema["additionalProperties"]) == (["q"], False)
            assert schema["properties"]["limit"]["maximum"] == 100

    async def test_tools_answer_like_the_api(self, coffee_web: WebStage) -> None:
        asked = {"q": HEADLINE, "limit": 2}
        for name, path, given in (
            ("search", "/api/search", {"q": "coffee", "limit": 3}),
            ("prophecy", "/api/prophecy", asked),
            ("ask", "/api/ask", {"q": "What is coffee?"}),
            ("corpora", "/api/corpora", {}),
        ):
            answered = (await call(coffee_web, name, given)).structured_content
            body = await coffee_web.json(path, **given)
            for timed in (answered, body):
                timed.pop("elapsed_ms", None)
            # In memory no request tells by which address this server is reached.
            assert answered == _without_addresses(body)

    async def test_three_short_hits_have_less_than_1500_bytes(self, demo_web: WebStage) -> None:
        headline = "Container Ship Wedged Across Canal Halts Trade for Sixth Day"
        async with Client(create_tool_server(demo_web.shared)) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.output_schema for tool in tools)
            for tool, asked in (
                ("prophecy", {"headline": headline, "date": "2021-03-28"}),
                ("search", {"q": "ship canal", "limit": 3}),
                ("find", {"query": "ship", "limit": 3}),
            ):
                long = await client.call_tool(tool, asked)
                short = await client.call_tool(tool, asked | {"short": True})
                hits = short.structured_content["hits"]
                assert [hit["id"] for hit in hits] == [
                    hit["id"] for hit in long.structured_content["hits"]
                ]
                assert len(hits) in (2, 3)
                assert len(said(short).encode()) < 1500
                assert {"text", "created_at", "url"} <= hits[0].keys()

    async def test_short_texts_are_cut_by_their_bytes(self, database_url: str) -> None:
        database = await Database.open(database_url)
        texts = [text_of(str(n), f"coffee {'кофе дорожает ' * 40}") for n in range(3)]
        await fill(database, "demo", Kind.TWEETS, texts)
        await database.close()
        async with (
            web_stage(database_url) as stage,
            Client(create_tool_server(stage.shared)) as client,
        ):
            found = await client.call_tool("search", {"q": "coffee", "short": True})
            none = {"headline": "zebra", "short": True}
            nothing = (await client.call_tool("prophecy", none)).structured_content
        assert all(hit["text"].endswith("…") for hit in found.structured_content["hits"])
        assert len(said(found).encode()) < 1500
        assert nothing == {"corpus": "demo", "hits": []}

    async def test_a_prompt_asks_what_foretold_a_headline(self, coffee_web: WebStage) -> None:
        async with Client(create_tool_server(coffee_web.shared)) as tools:
            [prompt] = (await tools.list_prompts()).prompts
            assert prompt.arguments is not None
            assert [(each.name, each.required) for each in prompt.arguments] == [
                ("headline", True), ("corpus", False)
            ]  # fmt: skip
            asked = {"headline": HEADLINE, "corpus": "demo"}
            [message] = (await tools.get_prompt(prompt.name, asked)).messages
            assert isinstance(message.content, TextContent)
            for part in (HEADLINE, "`prophecy`", "corpus=demo", "nothing foretold it"):
                assert part in message.content.text
            for name, given in ((prompt.name, {}), (prompt.name, {"headline": " "}), ("x", asked)):
                with pytest.raises(MCPError):
                    await tools.get_prompt(name, given)

    async def test_a_text_found_can_be_read_whole(self, coffee_web: WebStage) -> None:
        found = await call(coffee_web, "find", {"query": "coffee -prices", "limit": 1})
        [hit] = found.structured_content["hits"]
        assert json.loads(said(found)) == found.structured_content
        asked = {"corpus": "demo", "id": hit["id"]}
        read = (await call(coffee_web, "document", asked)).structured_content
        assert read["text"] in TWEETS

    @pytest.mark.parametrize(
        ("tool", "arguments", "expected"),
        [
            ("search", {}, "The parameter q is missing."),
            ("search", {"q": "x", "limit": 101}, "The parameter limit is wrong"),
            ("search", {"q": "x", "colour": "red"}, "There is no parameter 'colour'."),
            ("find", {"query": "coffee", "corpus": "nowhere"}, "There is no corpus 'nowhere'."),
            ("find", {"query": "coffee", "mode": "semantic"}, "No embeddings are set up."),
            ("prophecy", {"headline": "x", "date": "yesterday"}, "'yesterday' is not a date."),
            ("document", {"corpus": "demo", "id": "0"}, "Corpus demo holds no text with this id."),
        ],
    )
    async def test_a_mistake_is_told_to_the_agent(
        self, coffee_web: WebStage, tool: str, arguments: dict[str, Any], expected: str
    ) -> None:
        answered = await call(coffee_web, tool, arguments)
        assert answered.is_error
        assert said(answered).startswith(expected)

    async def test_unknown_tool_is_refused(self, coffee_web: WebStage) -> None:
        async with Client(create_tool_server(coffee_web.shared)) as client:
            with pytest.raises(MCPError, match="There is no tool 'drop'"):
                await client.call_tool("drop", {})

    async def test_unavailable_database_is_reported_as_a_tool_error(
        self, coffee_web: WebStage
    ) -> None:
        await coffee_web.app.database.close()
        answered = await call(coffee_web, "corpora", {})
        assert answered.is_error
        assert said(answered) == "The database does not answer. Try again in a few minutes."

    async def test_a_tweet_is_written_where_there_is_a_model(self, coffee_url: str) -> None:
        async with (
            ModelServer([Writer()]) as model,
            web_stage(judging(coffee_url, model)) as stage,
            Client(create_tool_server(stage.shared)) as client,
        ):
            asked = {"prompt": "Write about coffee prices", "web": False, "variants": 2}
            written = (await client.call_tool("compose", asked)).structured_content
        assert_contract(written)
        assert len(written["variants"]) == 2


class TestOverHttp:
    """The same at a path of the port, with the checks of the API."""

    @ERAS
    async def test_an_agent_lists_and_calls(self, coffee_url: str, mode: str) -> None:
        async with served(coffee_url, mcp="true") as one:
            address = one.service.address
            assert one.said[1] == f"Agents find their tools at {address}mcp"
            async with agent(address, mode) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
                found = await client.call_tool("search", {"q": "coffee"})
                assert found.structured_content["corpus"] == "demo"

    async def test_mcp_over_http_is_disabled_by_default(self, coffee_web: WebStage) -> None:
        answered = await coffee_web.client.post("/mcp", json={})
        assert answered.status_code == 404

    @ERAS
    async def test_a_model_is_asked_for_those_with_a_key(self, coffee_url: str, mode: str) -> None:
        async with ModelServer([scoring(judged_by_words)]) as model:
            environ = {
                "DATABASE_URL": coffee_url,
                "PRESAGIO_LLM__BASE_URL": model.base_url,
                "WEB_ADMIN_KEYS": "boss",
            }
            async with served(environ, mcp="true") as one:
                for headers, judged in (({}, False), (speaking("boss"), True)):
                    async with agent(one.service.address, mode, **headers) as client:
                        answered = await client.call_tool("prophecy", {"headline": HEADLINE})
                        assert answered.structured_content["judged"] is judged

    async def test_expensive_tools_have_the_limit_of_the_api(self, coffee_url: str) -> None:
        async with (
            port(coffee_url, answers_per_minute="1") as (one, _),
            agent(one.service.address, "legacy") as client,
        ):
            asked = {"headline": HEADLINE}
            results = [await client.call_tool("prophecy", asked) for _ in range(2)]
            assert [result.is_error for result in results] == [False, True]
            assert said(results[1]).startswith("Too many requests from this address. Wait ")
            assert not (await client.call_tool("corpora")).is_error

    async def test_mcp_requests_are_rate_limited_and_counted(self, coffee_url: str) -> None:
        async with port(coffee_url, requests_per_minute="2") as (_, http):
            await http.post("mcp", json={})
            figures = (await http.get("metrics")).text
            assert 'presagio_http_requests_total{route="/mcp",status="400"} 1.0' in figures
            assert (await http.post("mcp", json={})).status_code == 429

    async def test_a_page_that_is_named_may_ask_from_a_browser(self, coffee_url: str) -> None:
        page = "https://agent.example"
        async with port(coffee_url, allow_origins=f'["{page}"]') as (_, http):
            http.headers["Origin"] = page
            wanted = {
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type, mcp-protocol-version",
            }
            allowed = await http.options("mcp", headers=wanted)
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == page
            hello = await http.post("mcp", json=_message(1, "initialize", **_STRANGER))
            assert hello.status_code == 200

    async def test_operator_fixes_are_not_shown_over_http(self, coffee_url: str) -> None:
        environ = {"DATABASE_URL": coffee_url, "PRESAGIO_EMBEDDINGS__BACKEND": "tfidf"}
        asked = {"q": "coffee", "mode": "semantic"}
        async with web_stage(environ) as stage:
            if not await can_keep_vectors(stage.app.database):
                pytest.skip("this server has no pgvector 0.7 or newer")
            async with Client(create_tool_server(stage.shared)) as client:  # as on stdio
                message = said(await client.call_tool("search", asked))
        assert message == "demo has no vectors yet. Run: presagio embed --corpus demo"
        async with (
            served(environ, mcp="true") as one,
            agent(one.service.address, MODERN_PROTOCOL_VERSIONS[-1]) as client,
        ):
            message = said(await client.call_tool("search", asked))
        assert message == "demo has no vectors yet."

    async def test_a_cancelled_call_ends_its_work(self, coffee_url: str) -> None:
        left = asyncio.Event()

        async def hanging(_: Asked, __: web.Request) -> web.StreamResponse:
            try:
                await asyncio.sleep(PATIENCE)
            finally:  # cancelled, as nobody waits for the answer
                left.set()
            raise AssertionError

        async with ModelServer([hanging]) as model:
            environ = judging(coffee_url, model) | {"PRESAGIO_LLM__READ_TIMEOUT": "60"}
            async with (
                served(environ, mcp="true") as one,
                agent(one.service.address, MODERN_PROTOCOL_VERSIONS[-1]) as client,
            ):
                calling = asyncio.create_task(client.call_tool("prophecy", {"headline": HEADLINE}))
                await model.until_asked(1)
                calling.cancel()
                async with asyncio.timeout(PATIENCE / 2):
                    await left.wait()
                assert not (await client.call_tool("corpora")).is_error

    async def test_handwritten_protocol_messages_are_served(self, coffee_url: str) -> None:
        async with port(coffee_url) as (_, http):
            hello = await http.post("mcp", json=_message(1, "initialize", **_STRANGER))
            assert _read(hello)["serverInfo"]["name"] == "presagio"
            assert "mcp-session-id" not in hello.headers
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (await http.post("mcp", json=ready)).status_code == 202
            asked = {"name": "find", "arguments": {"query": "coffee", "limit": 1}}
            found = await http.post("mcp", json=_message(2, "tools/call", **asked))
            assert _read(found)["structuredContent"]["counts"]["returned"] == 1
            stream = await http.get("mcp")
            assert (stream.status_code, stream.headers["allow"]) == (405, "POST")

    async def test_no_address_takes_room_from_others_by_opening_many(self, coffee_url: str) -> None:
        async with port(coffee_url, requests_per_minute="-1") as (one, http):
            tasks = len(asyncio.all_tasks())
            for number in range(600):
                await http.post("mcp", json=_message(number, "initialize", **_STRANGER))
            async with agent(one.service.address, "legacy") as client:
                assert not (await client.call_tool("corpora")).is_error
            await until(lambda: len(asyncio.all_tasks()) < tasks + 10)


_STRANGER: dict[str, object] = {
    "protocolVersion": LATEST_HANDSHAKE_VERSION,
    "capabilities": {},
    "clientInfo": {"name": "stranger", "version": "1"},
}


def _message(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _read(answered: httpx.Response) -> Any:
    assert answered.status_code == 200, answered.text
    [data] = [line for line in answered.text.splitlines() if line.startswith("data: {")]
    return json.loads(data.removeprefix("data: "))["result"]


def _without_addresses(answer: Any) -> Any:
    """Return an answer of the API in which no text has an address."""
    if isinstance(answer, list):
        return [_without_addresses(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    bare = {"page_url": None, "picture_url": None}
    return {name: bare.get(name, _without_addresses(value)) for name, value in answer.items()}

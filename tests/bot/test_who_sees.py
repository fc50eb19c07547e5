"""Which archives a chat, the page, the API, agents and the terminal see, and what keys permit."""

from collections.abc import Awaitable, Callable, Mapping

import httpx
import pytest
from mcp import Client

from bot.app import open_app
from bot.settings import load_settings
from bot.web.mcp import create_tool_server
from db.pool import Database
from engine.values import Kind
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import speaking, web_stage
from tests.bot.web.test_service import served
from tests.scenarios.stage import staged

ARCHIVES = {"demo", "diary"}  # of which the second is private
Environ = Mapping[str, str]
CHAT, NAMED = "PRESAGIO_CHAT__PRIVATE", {"PRESAGIO_WEB__CORPORA": '["diary"]'}


async def see_in_chat(environ: Environ) -> str:
    async with staged(environ["DATABASE_URL"]) as stage:
        alice = stage.telegram.user("Alice")
        chat = stage.telegram.private_chat(alice)
        if CHAT in environ:
            stage.environment[CHAT] = f'["telegram:{chat.id}"]'
        async with stage.serving():
            answers = {
                name: (await (await alice.says(chat, f"/corpus {name}")).answer()).text
                for name in ARCHIVES
            }
            await stage.telegram.until_acknowledged()
        return " ".join(name for name, answer in answers.items() if "Here I search" in answer)


async def see_on_page(environ: Environ) -> str:
    async with web_stage(environ) as stage:
        return (await stage.get("/corpora")).text


async def see_in_api(environ: Environ) -> str:
    async with web_stage(environ) as stage:
        return (await stage.get("/api/corpora")).text


async def see_as_agent(environ: Environ) -> str:
    async with web_stage(environ) as stage, Client(create_tool_server(stage.shared)) as client:
        return str((await client.call_tool("corpora")).structured_content)


async def see_in_terminal(environ: Environ) -> str:
    async with open_app(load_settings(environ=environ), progress=print) as app:
        return " ".join(corpus.name for corpus in await app.corpora.list())


SEEN = [
    # by whom, with which settings: which archives
    (see_in_chat, {}, {"demo"}),
    (see_in_chat, NAMED, {"demo"}),
    (see_in_chat, {CHAT: "this one"}, {"demo", "diary"}),
    (see_on_page, {}, {"demo"}),
    (see_on_page, {CHAT: '["telegram:1"]'}, {"demo"}),
    (see_on_page, NAMED, {"diary"}),
    (see_in_api, {}, {"demo"}),
    (see_in_api, NAMED, {"diary"}),
    (see_as_agent, {}, {"demo"}),
    (see_as_agent, NAMED, {"diary"}),
    (see_in_terminal, {}, {"demo", "diary"}),
    (see_in_terminal, NAMED, {"demo", "diary"}),
]


@pytest.mark.parametrize(("see", "settings", "archives"), SEEN)
async def test_archives_that_are_seen(
    see: Callable[[Environ], Awaitable[str]], settings: Environ, archives: set[str], coffee_url: str
) -> None:
    storage = await Database.open(coffee_url)
    diary = [text_of("d1", "My coffee, my secret", days_ago=900)]
    await fill(storage, "diary", Kind.PERSONAL, diary)
    await storage.close()
    text = await see({"DATABASE_URL": coffee_url, **settings})
    assert {name for name in ARCHIVES if name in text} == archives


@pytest.mark.parametrize(
    ("key", "page", "api", "tools", "reload"),
    [
        (None, 200, 401, 401, 401),
        ("guessed", 200, 401, 401, 401),
        ("ask", 200, 200, 200, 403),
        ("steer", 200, 200, 200, 200),
    ],
)
async def test_what_a_key_permits(
    key: str | None, page: int, api: int, tools: int, reload: int, coffee_url: str
) -> None:
    environ = {"DATABASE_URL": coffee_url, "WEB_API_KEYS": "ask", "WEB_ADMIN_KEYS": "steer"}
    headers = {"Accept": "application/json, text/event-stream", **(speaking(key) if key else {})}
    list_tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with served(environ, mcp="true") as stage, httpx.AsyncClient(headers=headers) as client:
        address = stage.service.address
        assert (await client.get(f"{address}?q=coffee")).status_code == page
        assert (await client.get(f"{address}api/search?q=coffee")).status_code == api
        assert (await client.post(f"{address}mcp", json=list_tools)).status_code == tools
        assert (await client.post(f"{address}api/admin/reload")).status_code == reload

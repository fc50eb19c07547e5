"""`presagio mcp`: the tools on the command's standard streams."""

import asyncio
import os

import httpx
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from bot.app import open_app
from bot.cli.serve import serve_over_http, with_tools
from bot.settings import load_settings
from db.pool import Database
from engine.extras import how_to_install
from engine.values import Kind
from tests.bot.command_line import PROGRAM
from tests.bot.conftest import Invoke
from tests.bot.kinds import fill, text_of
from tests.db.loading import load_texts
from tests.patience import PATIENCE


async def test_an_agent_starts_it_and_asks(database: str) -> None:
    """A process, as the streams of a process are what it serves on."""
    opened = await Database.open(database)
    await load_texts(opened, "tweets", ["Coffee again"])
    await fill(opened, "diary", Kind.PERSONAL, [text_of("1", "My coffee")])
    await opened.close()
    started = StdioServerParameters(
        command=str(PROGRAM), args=["mcp", "--corpus", "diary"], env=dict(os.environ)
    )
    async with Client(started, read_timeout_seconds=PATIENCE) as client:
        corpora = (await client.call_tool("corpora")).structured_content["corpora"]
        assert [one["name"] for one in corpora] == ["diary"]
        found = await client.call_tool("find", {"query": "coffee"})
        assert [hit["text"] for hit in found.structured_content["hits"]] == ["My coffee"]


async def test_over_http_it_serves_without_a_page(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PRESAGIO_WEB__PORT", "0")
    async with open_app(with_tools(load_settings(), []), progress=print) as app:
        await load_texts(app.database, "tweets", ["Coffee again"])
        serving, said = asyncio.create_task(serve_over_http(app)), ""
        async with asyncio.timeout(PATIENCE):
            while "/mcp" not in said:
                await asyncio.sleep(0.01)
                said += capsys.readouterr().err
        address = said.split()[-1]
        async with Client(address, read_timeout_seconds=PATIENCE) as client:
            found = await client.call_tool("find", {"query": "coffee"})
            assert found.structured_content["counts"]["returned"] == 1
        async with httpx.AsyncClient() as http:
            assert (await http.get(address.removesuffix("mcp"))).status_code == 404
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_missing_mcp_extra_is_named(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.web.service.find_spec", lambda _: None)
    done = invoke("mcp")
    assert (done.code, done.out) == (1, "")
    assert how_to_install("mcp") in done.err

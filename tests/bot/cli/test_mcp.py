"""`presagio mcp`: the tools on the command's standard streams."""

import os

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from db.pool import Database
from engine.types import Kind
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


def test_without_the_extra_it_says_which(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.web.service.find_spec", lambda _: None)
    done = invoke("mcp")
    assert (done.code, done.out) == (1, "")
    assert "pip install 'presagio[mcp]'" in done.err

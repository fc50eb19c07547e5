"""docs/feeds.md: its commands run, its wishes are understood, its settings are read."""

import asyncio
import os
import re
import shlex
import tomllib
from functools import partial
from pathlib import Path

import pytest

from bot.commands.subscription_parser import read_subscription
from bot.i18n.words import words_for
from bot.settings import load_settings
from engine.chat import Chat
from engine.feeds.lookup import OpmlFeed, write_opml
from engine.posting.delivery import Subscription
from tests.bot.forking import forked
from tests.engine.feeds.documents import item, rss
from tests.fakes.web import WebServer, page

GUIDE = (Path(__file__).parents[2] / "docs" / "feeds.md").read_text(encoding="utf-8")
SITE = "https://example.org"
NAMING = '<html><link rel="alternate" type="application/rss+xml" href="/news.xml"></html>'
CHAT = Chat(id=1, platform="test", external_id="1", private=True)
WISHES = re.findall(r"^/subscribe (.+)$", GUIDE, re.MULTILINE)
TABLE = GUIDE.partition("| option | means |")[2].partition("\n\n")[0]
OPTIONS = re.findall(r"^\| (`.+?`) \|", TABLE, re.MULTILINE)


def blocks(kind: str) -> str:
    return "".join(re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE))


async def test_its_commands_run(database_url: str, tmp_path: Path) -> None:
    lines = blocks("sh").splitlines()
    assert len(lines) == 8
    async with WebServer() as web:
        web.pages["/"] = page(NAMING)
        web.pages["/news.xml"] = page(rss(item("The port is closed")), "application/rss+xml")
        listed = write_opml([OpmlFeed(url=web.url("/other.xml"), category="tech")], title="x")
        (tmp_path / "feeds.opml").write_bytes(listed)
        environ = {
            **os.environ,
            "DATABASE_URL": database_url,
            "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        }
        for line in lines:
            program, *arguments = shlex.split(line.replace(SITE, web.url("").rstrip("/")))
            assert program == "presagio"
            call = partial(forked, *arguments, env=environ, cwd=tmp_path)
            done = await asyncio.to_thread(call)
            assert (done.code, bool(done.out)) == (0, True), (line, done)


@pytest.mark.parametrize("typed", WISHES)
def test_guide_subscription_examples_are_parsed(typed: str) -> None:
    start = Subscription(chat=CHAT, thread="7")
    before = read_subscription("must x categories y", None, start, words_for("en"))
    assert read_subscription(typed, before, start, words_for("en")) != before


def test_guide_lists_every_subscription_option() -> None:
    documented = {name for cell in OPTIONS for name in re.findall(r"`(\w+)", cell)} - {"coverage"}
    start = Subscription(chat=CHAT)
    with pytest.raises(Exception, match="There are: ") as caught:
        read_subscription("nonsense", None, start, words_for("en"))
    known = set(str(caught.value).partition("There are: ")[2].rstrip(".").split(", "))
    assert documented == known - {"coverage"}
    assert "`coverage`" in GUIDE


def test_guide_settings_are_loaded(tmp_path: Path) -> None:
    written = blocks("toml")
    (tmp_path / "config.toml").write_text(written)
    settings = load_settings(tmp_path / "config.toml")
    assert [feed.category for feed in settings.feeds] == ["news", "research"]
    posting = tomllib.loads(written)["posting"]
    assert settings.posting.repeat_after_days == posting["repeat_after_days"]

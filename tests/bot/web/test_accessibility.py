"""Every page as axe-core judges it, by day and by night.

`.ci/axe` installs axe-core and names its folder in NODE_PATH; elsewhere this is skipped.
"""

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from tests.bot.web.browser import Visit, browsing
from tests.bot.web.test_browser import DESKTOP, PATHS, PHONE
from tests.bot.web.test_service import served
from tests.bot.web.test_streaming import JUDGED, STATUS, shows
from tests.fakes.model import Asked, ModelServer, scoring
from tests.fakes.writer import Writer
from tests.programs import require_program
from tests.scenarios.stage import judged_by_words

_AXE = Path(os.environ.get("NODE_PATH", "nowhere")) / "axe-core" / "axe.min.js"
_FOUND = """
axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map(
  (one) => [one.id, one.nodes.map((node) => node.html)]))
"""
_ALSO = ("?lang=es", "compose", "feed.xml", "search",
         "search?q=zebra+coffee&lang=es", "ask",
         "prophecy?headline=zebra&date=2024-01-01", "prophecy?headline=zebra&date=32/13/2021",
         "corpora/nobody", "corpora/demo/2010/13", "documents/demo/none",
         "prophecy?headline=Coffee+prices&date=2024-01-01&corpus=demo&more=1")  # fmt: skip

pytestmark = pytest.mark.skipif(not _AXE.is_file(), reason="axe-core is absent; see .ci/axe")


@pytest.mark.parametrize("dark", [False, True])
async def test_no_page_has_a_violation(visit: Visit, dark: bool) -> None:
    for width, height in (PHONE, DESKTOP):
        await visit.browser.look_like(width=width, height=height, dark=dark)
        for path in (*PATHS, *_ALSO):
            await visit.open(path)
            assert await violations(visit) == [], (path, width)
    visit.browser.complaints[:] = [
        each for each in visit.browser.complaints if "404" not in each and "400" not in each
    ]


@pytest.mark.parametrize("dark", [False, True])
async def test_pages_being_judged_or_composed_have_no_accessibility_violation(
    coffee_url: str, dark: bool
) -> None:
    program, judged = require_program("chromium"), asyncio.Event()

    async def judge_slowly(asked: Asked, request: web.Request) -> web.StreamResponse:
        await judged.wait()
        return await scoring(judged_by_words)(asked, request)

    async with ModelServer([judge_slowly]) as judge, ModelServer([Writer()]) as writer:
        for model, look in ((judge, _watch_judging), (writer, _have_written)):
            environ = {"DATABASE_URL": coffee_url, "PRESAGIO_LLM__BASE_URL": model.base_url}
            async with (
                served(environ, patience=0.1, judge="true") as service,
                browsing(program) as browser,
            ):
                visit = Visit(browser, service.service.address)
                await browser.look_like(width=PHONE[0], height=PHONE[1], dark=dark)
                await look(visit, judged)


async def _watch_judging(visit: Visit, judged: asyncio.Event) -> None:
    await visit.open(PATHS[1])
    assert await visit.read("document.querySelector('[aria-busy]') !== null")
    assert await violations(visit) == []
    judged.set()
    await shows(visit, STATUS, JUDGED)
    assert await violations(visit) == []


async def _have_written(visit: Visit, _: asyncio.Event) -> None:
    await visit.open("compose")
    await visit.browser.click("#prompt")
    await visit.browser.write("coffee prices")
    await visit.browser.press("Enter", "\r")
    await shows(visit, "document.getElementById('composition').innerText", "Variant 1 of")
    assert await violations(visit) == []


async def violations(visit: Visit) -> list[Any]:
    """Return the rules that the open page breaks, with the nodes; details are unfolded first."""
    await visit.read("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    await visit.read(f"{_AXE.read_text(encoding='utf-8')}; true")
    return cast(list[Any], await visit.read(_FOUND))

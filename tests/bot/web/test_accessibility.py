"""Every page as axe-core judges it, by day and by night.

`.ci/axe` installs axe-core and names its folder in NODE_PATH; elsewhere this is skipped.
"""

import os
from pathlib import Path
from typing import Any, cast

import pytest

from tests.bot.web.browser import Visit
from tests.bot.web.test_browser import DESKTOP, PATHS, PHONE

_AXE = Path(os.environ.get("NODE_PATH", "nowhere")) / "axe-core" / "axe.min.js"
_FOUND = """
axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map(
  (one) => [one.id, one.nodes.map((node) => node.html)]))
"""
_ALSO = ("?lang=es", "compose", "feed.xml", "timeline", "ask",
         "prophecy?headline=zebra&date=2024-01-01",
         "prophecy?headline=Coffee+prices&date=2024-01-01&corpus=demo&more=1")  # fmt: skip

pytestmark = pytest.mark.skipif(not _AXE.is_file(), reason="axe-core is absent; see .ci/axe")


@pytest.mark.parametrize("dark", [False, True])
async def test_no_page_has_a_violation(visit: Visit, dark: bool) -> None:
    await visit.open(PATHS[1])
    await visit.browser.click("#hit-1 .vote button")  # so that the wall and the corpus show it
    await visit.browser.load()
    for width, height in (PHONE, DESKTOP):
        await visit.browser.look_like(width=width, height=height, dark=dark)
        for path in (*PATHS, *_ALSO):
            await visit.open(path)
            assert await violations(visit) == [], (path, width)
    visit.browser.complaints[:] = [one for one in visit.browser.complaints if "404" not in one]


async def violations(visit: Visit) -> list[Any]:
    """Return the rules that the open page breaks, with the nodes; details are unfolded first."""
    await visit.read("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    await visit.read(f"{_AXE.read_text(encoding='utf-8')}; true")
    return cast(list[Any], await visit.read(_FOUND))

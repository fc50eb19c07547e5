"""Takes a screenshot of every page at three widths, by day and by night, and weighs the page.

`python -m bench.screens ADDRESS FOLDER` writes pictures of the pages that a running `presagio
serve` shows at ADDRESS, and prints one row a page: what a visitor's browser receives, compressed,
and the median time to the first byte. `--path /ask` looks at that page alone. Needs Chromium, and a
page that does not limit requests. `--before ADDRESS` sets home, an answer, an archive and a text
beside those of another version that runs there, and writes before-and-after-*.png.
"""

import argparse
import asyncio
import base64
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import httpx
from selectolax.lexbor import LexborHTMLParser

from bench.timing import Output
from tests.bot.web.browser import Browser, browsing
from tests.programs import find_program

WIDTHS = {"phone": (360, 740), "tablet": (768, 1024), "desktop": (1280, 900)}
_TIMES = 20  # requests for a page, of which the median counts
_LIMITED = (
    "The page limits requests: run it with PRESAGIO_WEB__REQUESTS_PER_MINUTE=-1 and"
    " PRESAGIO_WEB__ANSWERS_PER_MINUTE=-1."
)
_LONGEST = 6000  # pixels of a page that its picture shows
_COMPARED = ("home", "prophecy", "corpus", "document")
_PAIR_HEIGHT = 1100


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and how its pictures are called."""

    name: str
    path: str


async def pages_of(client: httpx.AsyncClient) -> Sequence[Page]:
    """Return the pages that a visitor reaches: one of each sort."""
    home = LexborHTMLParser((await client.get("/")).text)
    example = _link(home, ".story a, .examples a")
    answer = LexborHTMLParser((await client.get(example, follow_redirects=True)).text)
    word = (_texts(answer, "mark") or ["the"])[0]
    corpus = await _follow(client, "/corpora", ".voices h2 a")
    found = [
        Page("home", "/"),
        Page("home-es", "/?lang=es"),
        Page("prophecy", example),
        Page("nothing", "/prophecy?headline=Quasar+xylophone+zygote+regatta&date=2024-01-01"),
        Page("document", _link(answer, "a[href^='/documents/']")),
        Page("corpora", "/corpora"),
        Page("corpus", corpus),
        Page("month", await _follow(client, corpus, ".months a")),
        Page("on-this-day", f"{corpus}/on-this-day"),
        Page("most-liked", f"{corpus}/most-liked"),
        Page("ask", "/ask"),
        Page("answer", f"/ask?question=What+was+said+about+{word}"),
        Page("search", "/search"),
        Page("search-word", f"/search?q={word}"),
        Page("feed", "/feed.xml"),
        Page("compose", "/compose"),
        Page("docs", "/docs"),
        Page("failure", "/nowhere"),
    ]
    return [page for page in found if page.path]


def _link(page: LexborHTMLParser, selector: str) -> str:
    node = page.css_first(selector)
    return str(node.attributes["href"]) if node else ""


async def _follow(client: httpx.AsyncClient, path: str, selector: str) -> str:
    """Return where the first such link of a page leads; "" if it has none."""
    return _link(LexborHTMLParser((await client.get(path or "/")).text), selector)


def _texts(page: LexborHTMLParser, selector: str) -> list[str]:
    return [node.text(strip=True) for node in page.css(selector)]


async def weigh(client: httpx.AsyncClient, page: Page) -> dict[str, object]:
    """Return the size of a page, compressed, and the time to its first byte."""
    size, seconds = 0, []
    for _ in range(_TIMES):
        started = time.perf_counter()
        async with client.stream("GET", page.path, follow_redirects=True) as answered:
            if answered.status_code == httpx.codes.TOO_MANY_REQUESTS:
                sys.exit(_LIMITED)
            first = [time.perf_counter() - started]
            size = sum([len(part) async for part in answered.aiter_raw()])
        seconds += first
    return {
        "page": page.name,
        "kilobytes": round(size / 1000, 1),
        "first_byte_ms": round(statistics.median(seconds) * 1000, 1),
    }


async def photograph(browser: Browser, address: str, page: Page, folder: Path) -> None:
    """Write the six pictures of a page."""
    for screen, (width, height) in WIDTHS.items():
        for dark in (False, True):
            await browser.look_like(width=width, height=height, dark=dark)
            await browser.open(urljoin(address, page.path))
            length = int(await browser.read("document.documentElement.scrollHeight"))
            clip = {"x": 0, "y": 0, "width": width, "height": min(length, _LONGEST), "scale": 1}
            taken = await browser.call(
                "Page.captureScreenshot", clip=clip, captureBeyondViewport=True
            )
            name = f"{page.name}-{screen}-{'dark' if dark else 'light'}.png"
            (folder / name).write_bytes(base64.b64decode(taken["data"]))


async def compare(browser: Browser, before: str, after: str, page: Page, folder: Path) -> None:
    """Write one picture of a page in two versions, side by side, at the widest screen."""
    width, _ = WIDTHS["desktop"]
    await browser.look_like(width=width, height=_PAIR_HEIGHT)
    taken = []
    for address in (before, after):
        await browser.open(urljoin(address, page.path))
        taken.append((await browser.call("Page.captureScreenshot"))["data"])
    await browser.look_like(width=2 * width, height=_PAIR_HEIGHT)
    await browser.open("about:blank")
    shown = "".join(f'<img src="data:image/png;base64,{data}" width="{width}">' for data in taken)
    await browser.read(f"document.body.style.margin = 0; document.body.innerHTML = {shown!r}")
    await browser.read("Promise.all([...document.images].map((image) => image.decode())).then()")
    pair = await browser.call("Page.captureScreenshot")
    (folder / f"before-and-after-{page.name}.png").write_bytes(base64.b64decode(pair["data"]))


async def look(address: str, folder: Path, paths: Sequence[str], before: str) -> None:
    """Write the pictures and print the weights."""
    program, output = find_program("chromium"), Output("screens")
    if program is None:
        sys.exit("There is no Chromium here.")
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        named = [
            Page(path.strip("/").partition("?")[0].replace("/", "-") or "home", path)
            for path in paths
        ]
        pages = named or await pages_of(client)
        for page in pages:
            output.row(**await weigh(client, page))
    async with browsing(program) as browser:
        for page in pages:
            await photograph(browser, address, page, folder)
            if before and (named or page.name in _COMPARED):
                await compare(browser, before, address, page, folder)
    output.table()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Takes screenshots of every page.")
    parser.add_argument("address")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--path", action="append", default=[], dest="paths")
    parser.add_argument("--before", default="", help="address of another version to compare with")
    read = parser.parse_args()
    read.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(look(read.address, read.folder, read.paths, read.before))

"""Draws the pictures of the README: an answer as it is shared, and the page that shows it.

`python -m bench.pictures` serves the demo corpus, asks it a headline, and writes answer.png and
page.png to docs/pictures. It needs Chromium, and the extra `pictures`.
"""

import argparse
import asyncio
import base64
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import httpx

from bench.timing import progress
from bot.app import App, open_app
from bot.cli.demo import judged_by_people, load_demo
from bot.console.screen import Output
from bot.settings import load_settings
from bot.web.metrics import Metrics
from bot.web.service import WebService
from bot.web.shared_state import SharedState
from tests.bot.web.browser import browsing
from tests.programs import find_program

ASKED = {
    "headline": "Container Ship Wedged Across Canal Halts Trade for Sixth Day",
    "date": "2021-03-28",
}
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
_SIZE = (1000, 1180)
_SETTINGS = {
    "PRESAGIO_EMBEDDINGS__BACKEND": "null",
    "PRESAGIO_WEB__JUDGE": "true",
    "PRESAGIO_WEB__PORT": "0",
}


@asynccontextmanager
async def demo(data_dir: str) -> AsyncIterator[App]:
    """Open the demo corpus on a database in `data_dir`, judged by people."""
    settings = load_settings(environ={**_SETTINGS, "PRESAGIO_DATA_DIR": data_dir})
    async with open_app(settings, progress=progress) as app:
        await load_demo(app, output=Output(sys.stderr, sys.stderr))
        yield judged_by_people(app)


@asynccontextmanager
async def page(app: App) -> AsyncIterator[str]:
    """Serve the page of an app and yield its address."""
    service = WebService(SharedState(app, Metrics(), now=lambda: datetime.now(UTC)), tell=progress)
    serving = asyncio.create_task(service.run())
    await service.wait_until_open()
    try:
        yield service.address
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await service.stop(1)


async def photograph(chromium: str, address: str, file: Path) -> None:
    """Write a picture of the page at `address`.

    It is opened twice, as a browser that gets the typeface late shows another.
    """
    width, height = _SIZE
    async with browsing(chromium) as browser:
        await browser.look_like(width=width, height=height)
        await browser.call("Emulation.setScrollbarsHidden", hidden=True)
        for _ in range(2):
            await browser.open(address)
        taken = await browser.call("Page.captureScreenshot")
    file.write_bytes(base64.b64decode(taken["data"]))


async def draw(folder: Path, data_dir: str, chromium: str) -> None:
    """Write both pictures."""
    async with demo(data_dir) as app, page(app) as address:
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            answer = (await client.get("/picture.png", params=ASKED)).raise_for_status()
        (folder / "answer.png").write_bytes(answer.content)
        shown = f"{address}prophecy?{urlencode(ASKED | {'lang': 'en'})}"
        await photograph(chromium, shown, folder / "page.png")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args(arguments)
    chromium = find_program("chromium")
    if chromium is None:
        raise SystemExit("There is no chromium.")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="presagio-") as data_dir:
        Path(data_dir).chmod(0o711)  # the server may run under another account
        asyncio.run(draw(chosen.folder, data_dir, chromium))


if __name__ == "__main__":
    main()

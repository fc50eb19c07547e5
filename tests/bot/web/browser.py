"""A headless Chromium, spoken to over the DevTools protocol."""

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.patience import PATIENCE

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio",
    "--remote-debugging-port=0",
)  # fmt: skip

_SHIFT = """
  var shift = 0;
  new PerformanceObserver((list) => { for (const { value } of list.getEntries()) shift += value; })
    .observe({ type: "layout-shift", buffered: true });
"""


class Browser:
    """One tab. Notes every address that it asks for, and every complaint of the page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._loaded = asyncio.Event()
        self.asked: list[str] = []
        self.complaints: list[str] = []

    async def listen(self) -> None:
        """Take what the browser says, until it hangs up."""
        async for message in self._socket:
            said = message.json()
            if "id" in said:
                waiting = self._waiting.pop(said["id"])
                if not waiting.done():
                    waiting.set_result(said)
            else:
                self._note(said["method"], said["params"])

    def _note(self, event: str, values: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.asked.append(values["request"]["url"])
        elif event == "Page.loadEventFired":
            self._loaded.set()
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(values["exceptionDetails"]))
        elif event == "Log.entryAdded" and values["entry"]["level"] in {"warning", "error"}:
            self.complaints.append(values["entry"]["text"])

    async def call(self, method: str, **values: object) -> Any:
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": values})
        async with asyncio.timeout(PATIENCE):
            said = await self._waiting[number]
        assert "error" not in said, said
        return said["result"]

    async def open(self, url: str) -> None:
        """Open a page and wait until it has loaded."""
        self._loaded.clear()
        await self.call("Page.navigate", url=url)
        await self.load()

    async def load(self) -> None:
        """Wait for a page that was asked for in some way."""
        async with asyncio.timeout(PATIENCE):
            await self._loaded.wait()
        self._loaded.clear()

    async def read(self, expression: str) -> Any:
        """Return what an expression is worth in the page."""
        said = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    async def watch_shifts(self) -> None:
        """Let `shift` be how far the pages opened from now on move what somebody may be reading,
        as browsers measure it (Cumulative Layout Shift)."""
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=_SHIFT)

    async def press(self, key: str, text: str = "") -> None:
        """Press a key and let go of it."""
        codes = {"Tab": 9, "Enter": 13}
        values = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "text": text}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **values)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **values)

    async def write(self, text: str) -> None:
        """Write into what has the focus."""
        await self.call("Input.insertText", text=text)

    async def click(self, selector: str) -> None:
        """Click into the middle of the first node of a kind; needs no script in the page."""
        root = (await self.call("DOM.getDocument"))["root"]["nodeId"]
        node = await self.call("DOM.querySelector", nodeId=root, selector=selector)
        await self.call("DOM.scrollIntoViewIfNeeded", nodeId=node["nodeId"])
        box = (await self.call("DOM.getBoxModel", nodeId=node["nodeId"]))["model"]["content"]
        at = {"x": (box[0] + box[4]) / 2, "y": (box[1] + box[5]) / 2}
        for kind in ("mousePressed", "mouseReleased"):
            await self.call(
                "Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at
            )

    async def look_like(self, *, width: int, height: int, dark: bool = False) -> None:
        """Be a screen of that size, by day or by night."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])


@dataclass(frozen=True)
class Visit:
    """A browser, and where the page is."""

    browser: Browser
    address: str

    async def open(self, path: str) -> None:
        await self.browser.open(self.address + path)

    async def read(self, expression: str) -> object:
        return await self.browser.read(expression)


@asynccontextmanager
async def browsing(program: str) -> AsyncIterator[Browser]:
    """Lend a browser with an empty profile; it ends with the block."""
    profile = Path(tempfile.mkdtemp(prefix="chromium-"))
    running = await asyncio.create_subprocess_exec(
        program, *_FLAGS, f"--user-data-dir={profile}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession() as session:
            address = await _tab(session, profile / "DevToolsActivePort")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                browser = Browser(socket)
                listening = asyncio.create_task(browser.listen())
                for domain in ("Page", "Network", "Runtime", "Log", "DOM"):
                    await browser.call(f"{domain}.enable")
                yield browser
                listening.cancel()
                with suppress(asyncio.CancelledError):
                    await listening
    finally:
        with suppress(ProcessLookupError):
            running.kill()
        await running.wait()
        shutil.rmtree(profile, ignore_errors=True)


async def _tab(session: aiohttp.ClientSession, note: Path) -> str:
    async with asyncio.timeout(PATIENCE):
        while not note.exists() or not (port := note.read_text().split("\n")[0]):  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.05)
        while True:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answered:
                tabs = [one for one in await answered.json() if one["type"] == "page"]
            if tabs:
                return str(tabs[0]["webSocketDebuggerUrl"])
            await asyncio.sleep(0.05)

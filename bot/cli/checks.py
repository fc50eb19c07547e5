"""The checks of what is set up, in one table: what each looks at, its result, and what to do.

`presagio doctor` runs all of them. `presagio setup` asks the services that it is told of before it
writes anything.
"""

import errno
import os
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec
from inspect import isawaitable
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from bot.card import can_draw
from bot.platforms import find_platforms, list_platforms
from bot.settings import Settings
from engine.errors import PresagioError
from engine.extras import how_to_install
from engine.ingest.parsers.ocr import Ocr

_DOCUMENT_LIBRARIES = ("pypdfium2", "mammoth", "trafilatura")
_MIN_FREE, _FEW_FREE = 500_000_000, 2_000_000_000  # bytes
_LARGEST_OFFSET = timedelta(seconds=30)
_HEALTH_SECONDS = 3.0
_TELEGRAM_PORTS = (443, 80, 88, 8443)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a check. `ok` None means that it is not set up, which is not a failure."""

    ok: bool | None
    detail: str
    fix: str | None = None

    @classmethod
    def working(cls, detail: str) -> Self:
        """Return the result of what works."""
        return cls(ok=True, detail=detail)

    @classmethod
    def unset(cls, detail: str, fix: str) -> Self:
        """Return the result of what is not set up, and how to set it up."""
        return cls(ok=None, detail=detail, fix=fix)

    @classmethod
    def broken(cls, detail: str, fix: str) -> Self:
        """Return the result of what does not work, and what to do about it."""
        return cls(ok=False, detail=detail, fix=fix)

    @classmethod
    def of_error(cls, error: PresagioError, before: str = "") -> Self:
        """Return the result of what failed so."""
        return cls(ok=False, detail=f"{before}{error.message}", fix=error.fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is checked. With `asks_model` the model has to answer, which costs a few tokens."""

    settings: Settings
    now: Callable[[], datetime]
    asks_model: bool = False
    offsets: dict[str, timedelta] = field(default_factory=dict)  # how far this clock is ahead


def check_pictures() -> Result:
    """Check whether share pictures can be drawn."""
    if can_draw():
        return Result.working("can be drawn")
    return Result.unset("cannot be drawn", how_to_install("pictures"))


def check_documents() -> Result:
    """Check whether PDF and Word are read."""
    if all(find_spec(name) for name in _DOCUMENT_LIBRARIES):
        return Result.working("PDF, Word and EPUB are read")
    return Result.unset("PDF and Word are not read", how_to_install("documents"))


def check_tesseract(languages: tuple[str, ...] | None = None) -> Result:
    """Check whether scans are read, in the languages that tesseract has data of."""
    available = Ocr().languages if languages is None else languages
    if available:
        return Result.working(f"scans are read: {', '.join(available)}")
    fix = "Install tesseract and the data of your languages, such as tesseract-ocr-spa"
    return Result.unset("scans are not read", fix)


def check_disk(folder: Path, free: int | None = None) -> Result:
    """Check the space where the data folder is or will be."""
    if free is None:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        free = shutil.disk_usage(there).free
    detail = f"{free / 1e9:,.1f} GB free at {folder}"
    if free >= _FEW_FREE:
        return Result.working(detail)
    fix = "Free some, or name a folder on a larger disk in PRESAGIO_DATA_DIR"
    return Result(ok=None if free >= _MIN_FREE else False, detail=detail, fix=fix)


def check_clock(offsets: dict[str, timedelta]) -> Result:
    """Check this machine's clock; `offsets` is by how much it is ahead of others."""
    if not offsets:
        return Result.unset("nothing here to compare it with", "Compare it with another: date -u")
    differences = []
    for name, offset in offsets.items():
        seconds = round(offset.total_seconds())
        difference = f"{abs(seconds):,} s {'ahead of' if seconds > 0 else 'behind'}"
        differences.append(f"{difference if seconds else 'like'} that of {name}")
    detail = ", ".join(differences)
    if all(abs(offset) <= _LARGEST_OFFSET for offset in offsets.values()):
        return Result.working(detail)
    return Result.broken(detail, "Set the clocks by NTP, on Linux: timedatectl set-ntp true")


async def check_port(settings: Settings) -> Result:
    """Check whether the page and webhooks can be served, or are served already."""
    web, secrets = settings.web, settings.secrets
    slack_pushes = secrets.slack_bot_token and not secrets.slack_app_token
    if not (web.enabled or settings.telegram.webhook_url or slack_pushes):
        detail = "no page is opened, unless serve has no chat to answer"
        fix = "presagio serve --web opens it, or enabled = true in [web]"
        return Result.unset(detail, fix)
    place = f"{web.host}:{web.port}"
    if web.port == 0:
        return Result.working(f"a free port of {web.host} at each start")
    try:
        family = socket.AF_INET6 if ":" in web.host else socket.AF_INET
        with socket.create_server((web.host, web.port), family=family):
            return Result.working(f"{place} is free")
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE and await _is_served(web.host, web.port):
            return Result.working(f"presagio serves at {place}")
        reason = (os.strerror(exc.errno) if exc.errno else str(exc)).lower()
        fix = "End what listens there, or set another port or host in [web]"
        return Result.broken(f"{place}: {reason}", fix)


async def _is_served(host: str, port: int) -> bool:
    """Return whether a server of presagio answers there."""
    import httpx

    reached = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - compared
    place = f"[{reached}]" if ":" in reached else reached
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=_HEALTH_SECONDS) as client:
            answer = await client.get(f"http://{place}:{port}/healthz")
            return "faces" in answer.json()
    except (httpx.HTTPError, ValueError, TypeError):
        return False


def check_page_address(settings: Settings) -> Result | None:
    """Check the names by which the page is asked, or None if only this machine can."""
    web = settings.web
    if not (web.enabled and web.is_open):
        return None
    named = ", ".join(filter(None, (web.public_url, *web.hosts)))
    if web.public_url:
        return Result.working(f"asked by {named}")
    fix = "Set web.public_url to the address at which people reach the page; names are in web.hosts"
    detail = f"{web.host} is open to others, and web.public_url is not set: asked by localhost"
    detail += f", {named}" if named else ""
    return Result.unset(f"{detail} and its own addresses", fix)


def check_public_address(settings: Settings) -> Result | None:
    """Check the address that Telegram pushes to, or None if it does not push."""
    url = settings.telegram.webhook_url
    if not url:
        return None
    place = urlsplit(url)
    detail = f"{place.scheme}://{place.hostname}"  # not the path: it may be secret
    try:
        port = place.port or 443
    except ValueError:
        port = 0
    if place.scheme == "https" and port in _TELEGRAM_PORTS:
        return Result.working(detail)
    fix = "Set telegram.webhook_url to https at port 443, 80, 88 or 8443; Telegram takes no other"
    return Result.broken(detail, fix)


async def ask_endpoint(setup: Setup) -> Result:
    """Check the language model. Raises ModelUnreachable, ModelRefused, SettingsError."""
    endpoint = setup.settings.chat_endpoint()
    if not (endpoint.can_be_asked or setup.asks_model):
        fix = "Set OPENROUTER_API_KEY, or llm.base_url to a server of your own."
        return Result.unset("none: answers are not judged", fix)
    from engine.llm.transport import check_endpoint, check_model

    if setup.asks_model:
        return Result.working(await check_model(endpoint))
    answered = await check_endpoint(endpoint)
    if answered.date:
        setup.offsets[endpoint.host] = setup.now() - answered.date
    return Result.working(answered.line)


async def check_web_search(setup: Setup) -> Result:
    """Search once with each provider: keys and credits show in no other way. Raises FetchError."""
    if not setup.settings.web_search.providers:
        fix = "Name one in [web_search] providers, to find what no corpus holds"
        return Result.unset("none", fix)
    from bot.evidence import search_clients
    from engine.page.article import require_libraries

    async with AsyncExitStack() as stack:
        for client in (clients := search_clients(setup.settings)):
            stack.push_async_callback(client.aclose)
        for client in clients:
            await client.search("presagio", limit=1, now=setup.now())
    require_libraries()
    return Result.working(", ".join(client.name for client in clients))


async def check_platform(name: str, setup: Setup) -> Result | None:
    """Check a chat platform; None if its token is not set. Raises AdapterFailed."""
    if name not in list_platforms(setup.settings):
        return None
    return Result.working(await find_platforms()[name].check(setup.settings))


CHECKS: Mapping[str, Callable[[Setup], Awaitable[Result | None] | Result | None]] = {
    "model": ask_endpoint,
    "web search": check_web_search,
    "web": lambda setup: check_port(setup.settings),
    "page address": lambda setup: check_page_address(setup.settings),
    "public address": lambda setup: check_public_address(setup.settings),
    "pictures": lambda _: check_pictures(),
    "documents": lambda _: check_documents(),
    "tesseract": lambda _: check_tesseract(),
    "disk": lambda setup: check_disk(setup.settings.data_dir),
    "clock": lambda setup: check_clock(setup.offsets),  # last of those that ask others
    **{name: partial(check_platform, name) for name in find_platforms()},
}


async def run_check(name: str, setup: Setup) -> Result | None:
    """Return the result of one of CHECKS, or None if there is nothing to check.

    Raises what the check raises.
    """
    result = CHECKS[name](setup)
    return await result if isawaitable(result) else result

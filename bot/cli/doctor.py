"""`presagio doctor`: checks what works, and suggests fixes for what does not."""

import errno
import os
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import typer

from bot.card import can_draw
from bot.cli.doctor_checks import database_checks
from bot.cli.doctor_servers import Check
from bot.cli.shared import Json, read_clock, settings_of
from bot.console.screen import Output
from bot.database import bring_up_to_date, open_with_server
from bot.platforms import PLATFORMS, list_platforms
from bot.settings import Settings, masked_url
from bot.signals import run_until_signal
from db.corpus.health import server_time, server_version
from engine.errors import PresagioError
from engine.extras import how_to_install
from engine.ingest.parsers.ocr import Ocr

_DOCUMENT_LIBRARIES = ("pypdfium2", "mammoth", "trafilatura")
_MIN_FREE, _FEW_FREE = 500_000_000, 2_000_000_000  # bytes
_LARGEST_OFFSET = timedelta(seconds=30)
_HEALTH_SECONDS = 3.0
_TELEGRAM_PORTS = (443, 80, 88, 8443)


def picture_check() -> Check:
    """Return a check whether share pictures can be drawn."""
    if can_draw():
        return Check(check="pictures", ok=True, detail="can be drawn")
    fix = how_to_install("pictures")
    return Check(check="pictures", ok=None, detail="cannot be drawn", fix=fix)


def document_check() -> Check:
    """Return a check whether PDF and Word are read."""
    if all(find_spec(name) for name in _DOCUMENT_LIBRARIES):
        return Check(check="documents", ok=True, detail="PDF, Word and EPUB are read")
    fix = how_to_install("documents")
    return Check(check="documents", ok=None, detail="PDF and Word are not read", fix=fix)


def tesseract_check(languages: tuple[str, ...] | None = None) -> Check:
    """Return a check whether scans are read, in the languages that tesseract has data of."""
    available = Ocr().languages if languages is None else languages
    if available:
        return Check(check="tesseract", ok=True, detail=f"scans are read: {', '.join(available)}")
    fix = "Install tesseract and the data of your languages, such as tesseract-ocr-spa"
    return Check(check="tesseract", ok=None, detail="scans are not read", fix=fix)


def disk_check(folder: Path, free: int | None = None) -> Check:
    """Return a check of the space where the data folder is or will be."""
    if free is None:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        free = shutil.disk_usage(there).free
    detail = f"{free / 1e9:,.1f} GB free at {folder}"
    if free >= _FEW_FREE:
        return Check(check="disk", ok=True, detail=detail)
    fix = "Free some, or name a folder on a larger disk in PRESAGIO_DATA_DIR"
    return Check(check="disk", ok=None if free >= _MIN_FREE else False, detail=detail, fix=fix)


def clock_check(offsets: dict[str, timedelta]) -> Check:
    """Return a check of this machine's clock; `offsets` is by how much it is ahead of others."""
    if not offsets:
        detail = "nothing here to compare it with"
        return Check(check="clock", ok=None, detail=detail, fix="Compare it with another: date -u")
    differences = [f"{_format_offset(offset)} that of {name}" for name, offset in offsets.items()]
    wrong = any(abs(offset) > _LARGEST_OFFSET for offset in offsets.values())
    fix = "Set the clocks by NTP, on Linux: timedatectl set-ntp true" if wrong else None
    return Check(check="clock", ok=not wrong, detail=", ".join(differences), fix=fix)


def _format_offset(offset: timedelta) -> str:
    seconds = round(offset.total_seconds())
    if seconds == 0:
        return "like"
    return f"{abs(seconds):,} s {'ahead of' if seconds > 0 else 'behind'}"


async def port_check(settings: Settings) -> Check:
    """Return a check whether the page and webhooks can be served, or are served already."""
    web, name = settings.web, "web"
    pushed = bool(settings.telegram.webhook_url) or _slack_pushes(settings)
    if not (web.enabled or pushed):
        detail = "no page is opened, unless serve has no chat to answer"
        fix = "presagio serve --web opens it, or enabled = true in [web]"
        return Check(check=name, ok=None, detail=detail, fix=fix)
    place = f"{web.host}:{web.port}"
    if web.port == 0:
        return Check(check=name, ok=True, detail=f"a free port of {web.host} at each start")
    try:
        with socket.create_server((web.host, web.port), family=_address_family(web.host)):
            return Check(check=name, ok=True, detail=f"{place} is free")
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE and await _is_served(web.host, web.port):
            return Check(check=name, ok=True, detail=f"presagio serves at {place}")
        reason = (os.strerror(exc.errno) if exc.errno else str(exc)).lower()
        fix = "End what listens there, or set another port or host in [web]"
        return Check(check=name, ok=False, detail=f"{place}: {reason}", fix=fix)


def _slack_pushes(settings: Settings) -> bool:
    secrets = settings.secrets
    return bool(secrets.slack_bot_token) and not secrets.slack_app_token


def _address_family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


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


def page_address_check(settings: Settings) -> Check | None:
    """Return a check of the names by which the page is asked, or None if only this machine can."""
    web = settings.web
    if not (web.enabled and web.is_open):
        return None
    named = ", ".join(filter(None, (web.public_url, *web.hosts)))
    if web.public_url:
        return Check(check="page address", ok=True, detail=f"asked by {named}")
    fix = "Set web.public_url to the address at which people reach the page; names are in web.hosts"
    detail = f"{web.host} is open to others, and web.public_url is not set: asked by localhost"
    detail += f", {named}" if named else ""
    return Check(check="page address", ok=None, detail=f"{detail} and its own addresses", fix=fix)


def public_address_check(settings: Settings) -> Check | None:
    """Return a check of the address that Telegram pushes to, or None if it does not push."""
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
        return Check(check="public address", ok=True, detail=detail)
    fix = "Set telegram.webhook_url to https at port 443, 80, 88 or 8443; Telegram takes no other"
    return Check(check="public address", ok=False, detail=detail, fix=fix)


async def run_checks(
    settings: Settings, *, json: bool, output: Output, now: Callable[[], datetime]
) -> bool:
    """Run the checks, writing one line for each, and return True if none has failed."""
    faults = 0

    def report(check: Check) -> None:
        nonlocal faults
        faults += check.ok is False
        _write_check(check, json=json, output=output)

    source = str(settings.config_file or "defaults and environment")
    report(Check(check="settings", ok=True, detail=source))
    offsets: dict[str, timedelta] = {}
    await _check_database(settings, report, output, now, offsets)
    report(await _model_check(settings, now, offsets))
    report(await _web_search_check(settings, now()))
    report(await port_check(settings))
    for address in (page_address_check(settings), public_address_check(settings)):
        if address:
            report(address)
    for each in (picture_check(), document_check(), tesseract_check()):
        report(each)
    report(disk_check(settings.data_dir))
    report(clock_check(offsets))
    for check in await _adapter_checks(settings):
        report(check)
    return not faults


def _write_check(check: Check, *, json: bool, output: Output) -> None:
    if json:
        output.json(asdict(check))
        return
    mark = {True: "ok", False: "FAIL", None: "--"}[check.ok]
    output.line(f"{mark:4} {check.check}: {check.detail}")
    if check.fix:
        output.line(f"     {check.fix}")


async def _check_database(
    settings: Settings,
    report: Callable[[Check], None],
    output: Output,
    now: Callable[[], datetime],
    offsets: dict[str, timedelta],
) -> None:
    url = settings.database.url.get_secret_value()
    place = masked_url(url) if url else f"embedded, in {settings.data_dir}"
    try:
        async with open_with_server(settings, output.remark) as (database, server):
            version = await server_version(database)
            report(Check(check="database", ok=True, detail=f"PostgreSQL {version}, {place}"))
            if url:  # the embedded one has this machine's clock
                offsets["the database"] = now() - await server_time(database)
            else:  # as every other command does
                await bring_up_to_date(settings, database, server, output.remark)
            async for check in database_checks(settings, database, now()):
                report(check)
    except PresagioError as error:
        detail = f"{place}: {error.message}"
        report(Check(check="database", ok=False, detail=detail, fix=error.fix))


async def _model_check(
    settings: Settings, now: Callable[[], datetime], offsets: dict[str, timedelta]
) -> Check:
    try:
        endpoint = settings.chat_endpoint()
        if not endpoint.can_be_asked:
            return Check(
                check="model",
                ok=None,
                detail="none: answers are not judged",
                fix="Set OPENROUTER_API_KEY, or llm.base_url to a server of your own.",
            )
        # Imported here because only this check needs an HTTP client.
        from engine.llm.transport import check_endpoint

        answered = await check_endpoint(endpoint)
        if answered.date:
            offsets[endpoint.host] = now() - answered.date
        return Check(check="model", ok=True, detail=answered.line)
    except PresagioError as error:
        return Check(check="model", ok=False, detail=error.message, fix=error.fix)


async def _web_search_check(settings: Settings, now: datetime) -> Check:
    """Search once with each provider: keys and credits show in no other way."""
    name = "web search"
    if not settings.web_search.providers:
        fix = "Name one in [web_search] providers, to find what no corpus holds"
        return Check(check=name, ok=None, detail="none", fix=fix)
    from bot.evidence import search_clients
    from engine.page.article import require_libraries

    try:
        async with AsyncExitStack() as stack:
            for client in (clients := search_clients(settings)):
                stack.push_async_callback(client.aclose)
            for client in clients:
                await client.search("presagio", limit=1, now=now)
        require_libraries()
    except PresagioError as error:
        return Check(check=name, ok=False, detail=error.message, fix=error.fix)
    return Check(check=name, ok=True, detail=", ".join(client.name for client in clients))


async def _adapter_checks(settings: Settings) -> list[Check]:
    """Check the adapters whose tokens are set, importing only their libraries. None is required."""
    return [
        await _adapter_check(name, PLATFORMS[name].check(settings))
        for name in list_platforms(settings)
    ]


async def _adapter_check(name: str, identity: Awaitable[str]) -> Check:
    try:
        return Check(check=name, ok=True, detail=await identity)
    except PresagioError as error:
        return Check(check=name, ok=False, detail=error.message, fix=error.fix)


def command(context: typer.Context, json: Json = False) -> None:
    """Check what works, and say how to fix what does not.

    ok works, -- is not set up, FAIL is broken: then the exit code is 1.

    Example: presagio doctor
    """
    if not run_until_signal(
        run_checks(settings_of(context), json=json, output=Output.of_process(), now=read_clock)
    ):
        sys.exit(1)

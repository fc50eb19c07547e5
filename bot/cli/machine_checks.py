"""The checks of `presagio doctor` that look at this machine: programs, disk, clock and port."""

import errno
import os
import shutil
import socket
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from bot.card import can_draw
from bot.cli.news_checks import Check
from bot.settings import Settings
from engine.ingest.parsers.ocr import Ocr

_DOCUMENT_LIBRARIES = ("pypdfium2", "mammoth", "trafilatura")
_LEAST_FREE, _FEW_FREE = 500_000_000, 2_000_000_000  # bytes
_LARGEST_OFFSET = timedelta(seconds=30)
_HEALTH_SECONDS = 3.0
_TELEGRAM_PORTS = (443, 80, 88, 8443)


def picture_check() -> Check:
    """Return a check whether share pictures can be drawn."""
    if can_draw():
        return Check(check="pictures", ok=True, detail="can be drawn")
    fix = "Run: pip install 'presagio[pictures]'"
    return Check(check="pictures", ok=None, detail="cannot be drawn", fix=fix)


def document_check() -> Check:
    """Return a check whether PDF and Word are read."""
    if all(find_spec(name) for name in _DOCUMENT_LIBRARIES):
        return Check(check="documents", ok=True, detail="PDF, Word and EPUB are read")
    fix = "Run: pip install 'presagio[documents]'"
    return Check(check="documents", ok=None, detail="PDF and Word are not read", fix=fix)


def tesseract_check(languages: tuple[str, ...] | None = None) -> Check:
    """Return a check whether scans are read, in the languages that tesseract has data of."""
    known = Ocr().languages if languages is None else languages
    if known:
        return Check(check="tesseract", ok=True, detail=f"scans are read: {', '.join(known)}")
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
    return Check(check="disk", ok=None if free >= _LEAST_FREE else False, detail=detail, fix=fix)


def clock_check(offsets: dict[str, timedelta]) -> Check:
    """Return a check of this machine's clock; `offsets` is by how much it is ahead of others."""
    if not offsets:
        detail = "nothing here to compare it with"
        return Check(check="clock", ok=None, detail=detail, fix="Compare it with another: date -u")
    said = [f"{_ahead(offset)} that of {name}" for name, offset in offsets.items()]
    wrong = any(abs(offset) > _LARGEST_OFFSET for offset in offsets.values())
    fix = "Set the clocks by NTP, on Linux: timedatectl set-ntp true" if wrong else None
    return Check(check="clock", ok=not wrong, detail=", ".join(said), fix=fix)


def _ahead(offset: timedelta) -> str:
    seconds = round(offset.total_seconds())
    if seconds == 0:
        return "like"
    return f"{abs(seconds):,} s {'ahead of' if seconds > 0 else 'behind'}"


async def port_check(settings: Settings) -> Check:
    """Return a check whether the page and webhooks can be served, or are served already."""
    web, name = settings.web, "web"
    pushed = bool(settings.telegram.webhook_url) or _slack_pushes(settings)
    if not (web.enabled or pushed):
        fix = "presagio serve --web opens it, or enabled = true in [web]"
        return Check(check=name, ok=None, detail="no page is opened", fix=fix)
    place = f"{web.host}:{web.port}"
    if web.port == 0:
        return Check(check=name, ok=True, detail=f"a free port of {web.host} at each start")
    try:
        with socket.create_server((web.host, web.port), family=_family(web.host)):
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


def _family(host: str) -> socket.AddressFamily:
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

"""Updates that Telegram pushes."""

import hmac
import json
import re

from aiohttp import web

from bot.face import FaceFailed
from bot.telegram.client import Bot
from bot.telegram.updates import Handle, read_raw

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - no secret
_LARGEST = 1 << 20
_CLOSE_SECONDS = 1.0


class Webhook:
    """Listens for pushed updates and deals with each before saying so.

    Telegram pushes again what was not acknowledged, after a crash too.
    """

    def __init__(self, bot: Bot, handle: Handle, *, secret: str) -> None:
        """Raises FaceFailed for a secret that protects nothing or that Telegram refuses."""
        if not _SECRET.fullmatch(secret):
            raise FaceFailed(
                "A webhook needs a secret.",
                fix="Set TELEGRAM_WEBHOOK_SECRET to 1-256 letters, digits, _ or -.",
            )
        self._bot = bot
        self._handle = handle
        self._secret = secret.encode()
        self._closing = False
        self._runner: web.AppRunner | None = None

    async def listen(self, host: str, port: int) -> None:
        """Start to listen. Raises FaceFailed when the address is taken."""
        application = web.Application(client_max_size=_LARGEST)
        application.router.add_post("/{path:.*}", self._pushed)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_CLOSE_SECONDS)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            raise FaceFailed(
                f"Nobody can listen on {host}:{port}: {error.strerror}.",
                fix="Change telegram.webhook_host or telegram.webhook_port.",
            ) from error

    def refuse(self) -> None:
        """Take nothing new: Telegram pushes it again later."""
        self._closing = True

    async def close(self) -> None:
        """Stop listening."""
        if self._runner:
            await self._runner.cleanup()

    async def _pushed(self, request: web.Request) -> web.Response:
        given = request.headers.get(_SECRET_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._secret):
            return web.Response(status=403)
        if self._closing:
            return web.Response(status=503)
        try:
            raw = await request.json()
        except (json.JSONDecodeError, UnicodeDecodeError):
            return web.Response(status=400)
        if update := read_raw(raw, self._bot):
            await self._handle(update)
        return web.Response()

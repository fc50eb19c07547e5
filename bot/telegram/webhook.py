"""Updates that Telegram pushes."""

import hmac
import json
import logging
import re
from typing import Any

from aiohttp import web

from bot.face.face import FaceFailed
from bot.incident import reason
from bot.listening.port import Port, read_body
from bot.telegram.client import Bot
from bot.telegram.updates import Handle, read_raw
from engine.messages import Message

logger = logging.getLogger("presagio.telegram")

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - no secret
_CLOSE_SECONDS = 1.0


class Webhook:
    """Listens for pushed updates and deals with each before saying so.

    Telegram pushes again what was not acknowledged, after a crash too.
    """

    def __init__(self, bot: Bot, handle: Handle, *, secret: str) -> None:
        """Raises FaceFailed for a secret that protects nothing or that Telegram refuses."""
        if not _SECRET.fullmatch(secret):
            raise FaceFailed(
                Message("A webhook needs a secret."),
                fix=Message("Set TELEGRAM_WEBHOOK_SECRET to 1-256 letters, digits, _ or -."),
            )
        self._bot = bot
        self._handle = handle
        self._secret = secret.encode()
        self._closing = False
        self._port = Port("/{path:.*}", self._pushed, close_seconds=_CLOSE_SECONDS)

    async def listen(self, host: str, port: int) -> None:
        """Start to listen. Raises FaceFailed when the address is taken."""
        try:
            await self._port.listen(host, port)
        except OSError as error:
            raise FaceFailed(
                Message(
                    "Nobody can listen on {host}:{port}: {reason}.",
                    host=host,
                    port=port,
                    reason=error.strerror,
                ),
                fix=Message("Change telegram.webhook_host or telegram.webhook_port."),
            ) from error

    def refuse(self) -> None:
        """Take nothing new: Telegram pushes it again later."""
        self._closing = True

    async def close(self) -> None:
        """Stop listening."""
        await self._port.close()

    async def _pushed(self, request: web.Request) -> web.Response:
        given = request.headers.get(_SECRET_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._secret):
            return web.Response(status=403)
        if self._closing:
            return web.Response(status=503)
        if (raw := _update(await read_body(request))) is None:
            return web.Response(status=400)
        try:
            if update := read_raw(raw, self._bot):
                await self._handle(update)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # The library believes that whatever stands at a place is of the type it should be.
            logger.warning("update %s cannot be read: %s", raw["update_id"], reason(error))
            return web.Response(status=400)
        return web.Response()


def _update(body: bytes) -> dict[str, Any] | None:
    """Return an update as it came; None when the body is no such thing."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return raw if isinstance(raw, dict) and type(raw.get("update_id")) is int else None

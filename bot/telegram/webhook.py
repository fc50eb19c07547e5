"""Updates that Telegram pushes."""

import hmac
import json
import logging
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bot.face.face import FaceFailed
from bot.incident import reason
from bot.listening.webhook import read_body
from bot.telegram.client import Bot
from bot.telegram.updates import Handle, read_raw
from engine.messages import Message

logger = logging.getLogger("presagio.telegram")

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - no secret


class PushedUpdates:
    """Takes pushed updates while it is open, and deals with each before saying so.

    Telegram pushes again what was not acknowledged, after a crash too.
    """

    def __init__(self, bot: Bot, handle: Handle, *, secret: str) -> None:
        self._bot = bot
        self._handle = handle
        self._secret = secret
        self._open = False

    def check_secret(self) -> None:
        """Raise FaceFailed for a secret that protects nothing or that Telegram refuses."""
        if not _SECRET.fullmatch(self._secret):
            raise FaceFailed(
                Message("A webhook needs a secret."),
                fix=Message("Set TELEGRAM_WEBHOOK_SECRET to 1-256 letters, digits, _ or -."),
            )

    def open(self) -> None:
        """Take updates from now on. Raises FaceFailed as `check_secret` does."""
        self.check_secret()
        self._open = True

    def close(self) -> None:
        """Take nothing new: Telegram pushes it again later. What was taken is still answered."""
        self._open = False

    async def answer(self, request: Request) -> Response:
        """Deal with an update: 403 without the secret, 503 while closed, 400 for what is none."""
        # As they came: another encoding's letters are no text here.
        given = request.headers.get(_SECRET_HEADER, "").encode("latin-1")
        if not hmac.compare_digest(given, self._secret.encode()):
            return Response(status_code=403)
        if not self._open:
            return Response(status_code=503)
        if (raw := _update(await read_body(request))) is None:
            return Response(status_code=400)
        try:
            if update := read_raw(raw, self._bot):
                await self._handle(update)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # The library believes that whatever stands at a place is of the type it should be.
            logger.warning("update %s cannot be read: %s", raw["update_id"], reason(error))
            return Response(status_code=400)
        return Response()


def _update(body: bytes) -> dict[str, Any] | None:
    """Return an update as it came; None when the body is no such thing."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return raw if isinstance(raw, dict) and type(raw.get("update_id")) is int else None

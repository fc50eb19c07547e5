"""Slack's events over HTTP. Nothing is read that Slack did not sign within five minutes."""

import logging
from email.message import EmailMessage

from slack_bolt.adapter.starlette.async_handler import to_starlette_response
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier
from starlette.requests import Request
from starlette.responses import Response

from bot.incident import reason
from bot.listening.webhook import read_body

logger = logging.getLogger("presagio.slack")

PATH = "/slack/events"
# Bolt believes that whatever stands at a place is of the type it should be.
_MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


class PushedEvents:
    """Hands signed requests to Bolt while it is open; Slack sends again what it refuses."""

    def __init__(self, signing_secret: str) -> None:
        self._verifier = SignatureVerifier(signing_secret)
        self._app: AsyncApp | None = None

    def open(self, app: AsyncApp) -> None:
        """Hand what comes to `app` from now on."""
        self._app = app

    def close(self) -> None:
        """Take nothing new."""
        self._app = None

    async def answer(self, request: Request) -> Response:
        """Return Bolt's answer, 401 to what Slack did not sign, 400 to what is no event, 503 while
        closed."""
        body = await read_body(request)
        if not self._is_signed(body, request):
            logger.warning("Slack: refused a request without a valid signature")
            return Response(status_code=401)
        if self._app is None:
            return Response(status_code=503)
        try:
            return to_starlette_response(
                await self._app.async_dispatch(_bolt_request(body, request))
            )
        except _MALFORMED as error:
            logger.warning("Slack: an event cannot be read: %s", reason(error))
            return Response(status_code=400)

    def _is_signed(self, body: bytes, request: Request) -> bool:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        try:
            return self._verifier.is_valid(body, timestamp, signature)
        except (
            ValueError,
            TypeError,
        ):  # no number, no UTF-8, no ASCII: not Slack's
            return False


def _bolt_request(body: bytes, request: Request) -> AsyncBoltRequest:
    """Raises LookupError, UnicodeDecodeError for a body that is no text."""
    described = EmailMessage()
    described["Content-Type"] = request.headers.get("Content-Type", "")
    return AsyncBoltRequest(
        body=body.decode(described.get_content_charset("utf-8")),
        query=request.url.query,
        headers=request.headers,  # type: ignore[arg-type]  # a mapping of text to text
    )

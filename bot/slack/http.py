"""Slack's events over HTTP. Requests not signed by Slack within five minutes are not parsed."""

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
# Bolt assumes that every field has the right type.
_MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


class PushedEvents:
    """Hands signed requests to Bolt while open; Slack sends refused ones again."""

    def __init__(self, signing_secret: str) -> None:
        self._verifier = SignatureVerifier(signing_secret)
        self._app: AsyncApp | None = None

    def open(self, app: AsyncApp) -> None:
        """Hand requests to `app` from now on."""
        self._app = app

    def close(self) -> None:
        """Take no new requests."""
        self._app = None

    async def answer(self, request: Request) -> Response:
        """Return Bolt's answer, 401 for requests that Slack did not sign, 400 for anything that is
        not an event, 503 while closed."""
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
        ):  # not a number, not UTF-8, not ASCII: not from Slack
            return False


def _bolt_request(body: bytes, request: Request) -> AsyncBoltRequest:
    """Raises LookupError or UnicodeDecodeError for a body that is not text."""
    described = EmailMessage()
    described["Content-Type"] = request.headers.get("Content-Type", "")
    return AsyncBoltRequest(
        body=body.decode(described.get_content_charset("utf-8")),
        query=request.url.query,
        headers=request.headers,  # type: ignore[arg-type]  # a mapping of str to str
    )

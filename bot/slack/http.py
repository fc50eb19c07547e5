"""Slack's events over HTTP. Nothing is read that Slack did not sign within five minutes."""

import logging

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

from bot.incident import reason
from bot.listening.port import Port, read_body

logger = logging.getLogger("presagio.slack")

_CLOSE_SECONDS = 2.0
# Bolt believes that whatever stands at a place is of the type it should be.
_MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def events_port(app: AsyncApp, signing_secret: str) -> Port:
    """Return the port that hands signed requests to Bolt and refuses others: 401, and 400 for
    what is signed and no event."""
    verifier = SignatureVerifier(signing_secret)

    async def pushed(request: web.Request) -> web.Response:
        if not _is_signed(verifier, await read_body(request), request):
            logger.warning("Slack: refused a request without a valid signature")
            raise web.HTTPUnauthorized
        try:
            answer = await app.async_dispatch(await to_bolt_request(request))
        except _MALFORMED as error:
            logger.warning("Slack: an event cannot be read: %s", reason(error))
            raise web.HTTPBadRequest from None
        return await to_aiohttp_response(answer)

    return Port("/slack/events", pushed, close_seconds=_CLOSE_SECONDS)


def _is_signed(verifier: SignatureVerifier, body: bytes, request: web.Request) -> bool:
    timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
    signature = request.headers.get("X-Slack-Signature", "")
    try:
        return verifier.is_valid(body, timestamp, signature)
    except (ValueError, TypeError):  # no number, no UTF-8, no ASCII: nothing that Slack would send
        return False

"""Slack's events over HTTP. Nothing is read that Slack did not sign within five minutes."""

import logging

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

logger = logging.getLogger("presagio.slack")

_LARGEST = 1 << 20  # bytes


def events_application(app: AsyncApp, signing_secret: str) -> web.Application:
    """Return the web application that hands signed requests to Bolt and refuses others: 401."""
    verifier = SignatureVerifier(signing_secret)

    async def pushed(request: web.Request) -> web.Response:
        if not _is_signed(verifier, await request.read(), request):
            logger.warning("Slack: refused a request without a valid signature")
            raise web.HTTPUnauthorized
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    application = web.Application(client_max_size=_LARGEST)
    application.router.add_post("/slack/events", pushed)
    return application


def _is_signed(verifier: SignatureVerifier, body: bytes, request: web.Request) -> bool:
    timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
    signature = request.headers.get("X-Slack-Signature", "")
    try:
        return verifier.is_valid(body, timestamp, signature)
    except (ValueError, TypeError):  # no number, no UTF-8, no ASCII: nothing that Slack would send
        return False

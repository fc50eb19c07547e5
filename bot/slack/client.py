"""The client of the Web API, and whether Slack accepts its tokens."""

import asyncio

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.face.face import FaceFailed
from bot.slack.errors import FAILURES, slack_reason
from bot.slack.manifest import SCOPES
from engine.messages import Message

_CALL_SECONDS = 20


def web_client(bot_token: str, api_base: str) -> AsyncWebClient:
    """Return a client that sends nothing twice: it repeats only what Slack did not take."""
    return AsyncWebClient(
        token=bot_token,
        base_url=api_base.rstrip("/") + "/",
        timeout=_CALL_SECONDS,
        retry_handlers=[
            AsyncRateLimitErrorRetryHandler(max_retry_count=3),
            AsyncConnectionErrorRetryHandler(error_types=[aiohttp.ClientConnectorError]),
        ],
    )


_SECONDS = 10.0


async def check_slack(bot_token: str, app_token: str, signing_secret: str, api_base: str) -> str:
    """Return a line about the app. Raises FaceFailed."""
    client = web_client(bot_token, api_base)
    try:
        async with asyncio.timeout(_SECONDS):
            who = await client.auth_test()
            if app_token:
                await client.apps_connections_open(app_token=app_token)
    except SlackApiError as error:
        raise FaceFailed(
            Message("Slack refuses: {said}.", said=slack_reason(error)),
            fix=Message("Check SLACK_BOT_TOKEN and SLACK_APP_TOKEN."),
        ) from error
    except FAILURES as error:
        raise FaceFailed(
            Message("Slack cannot be reached ({said}).", said=slack_reason(error)),
            fix=Message("Check slack.api_base and the network."),
        ) from error
    if missing := _missing(str(who.headers.get("x-oauth-scopes", ""))):
        raise FaceFailed(
            Message("Slack did not grant: {missing}.", missing=", ".join(missing)),
            fix=Message(
                "Upload the manifest of `presagio slack manifest` and install the app again."
            ),
        )
    if not app_token and not signing_secret:
        raise FaceFailed(
            Message("Neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set."),
            fix=Message("Set the first for Socket Mode, the second for events over HTTP."),
        )
    way = "Socket Mode" if app_token else "events over HTTP"
    return f"{who.get('user')} in {who.get('team')}, {way}"


def _missing(granted: str) -> list[str]:
    """Return the scopes that are not granted; nothing where Slack does not say."""
    known = {scope.strip() for scope in granted.split(",") if scope.strip()}
    return [scope for scope in SCOPES if scope not in known] if known else []

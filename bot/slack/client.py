"""The client of the Web API."""

import aiohttp
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient

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

"""The client of the Web API: checks of its tokens, and profiles of users."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.face.face import DeliveryError, FaceFailed
from bot.slack.errors import FAILURES, slack_reason
from bot.slack.events import SlackProfile
from bot.slack.manifest import SCOPES
from engine.messages import Message

logger = logging.getLogger("presagio.slack")

_CALL_SECONDS = 20
_CHECK_SECONDS = 10.0
_KEPT_SECONDS = 3600.0
_KEPT = 5_000
_PATIENCE_SECONDS = 3.0  # a language and time zone are not worth a longer wait


def web_client(bot_token: str, api_base: str) -> AsyncWebClient:
    """Return a client that sends nothing twice: it retries only what Slack did not accept."""
    return AsyncWebClient(
        token=bot_token,
        base_url=api_base.rstrip("/") + "/",
        timeout=_CALL_SECONDS,
        retry_handlers=[
            AsyncRateLimitErrorRetryHandler(max_retry_count=3),
            AsyncConnectionErrorRetryHandler(error_types=[aiohttp.ClientConnectorError]),
        ],
    )


async def check_slack(bot_token: str, app_token: str, signing_secret: str, api_base: str) -> str:
    """Return a line about the app. Raises FaceFailed."""
    client = web_client(bot_token, api_base)
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
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
    """Return the scopes that are not granted; an empty list if Slack does not say."""
    known = {scope.strip() for scope in granted.split(",") if scope.strip()}
    return [scope for scope in SCOPES if scope not in known] if known else []


async def thread_root(client: AsyncWebClient, channel: str, thread: str) -> Mapping[str, Any]:
    """Return the first message of a thread, or an empty mapping if Slack does not show it."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            page = await client.conversations_replies(channel=channel, ts=thread, limit=1)
    except FAILURES as error:
        logger.info("Slack does not show the thread of a mention: %s", slack_reason(error))
        return {}
    return next((one for one in page.get("messages") or () if one.get("ts") == thread), {})


class People:
    """Profiles and rights of users, cached for an hour."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._known: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    async def profile(self, user_id: str) -> SlackProfile:
        """Return language and time zone; English if Slack does not say."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                user = await self._user(user_id)
        except FAILURES as error:
            logger.info("Slack tells nothing about a user: %s", slack_reason(error))
            user = {}
        return SlackProfile(
            language=str(user.get("locale") or "en").split("-")[0],
            time_zone=user.get("tz"),
            name=str(user.get("real_name") or user.get("name") or ""),
        )

    async def is_admin(self, user_id: str, *, team: str) -> bool:
        """Tell whether the user administers the workspace `team`. Raises DeliveryError.

        In a shared channel, admins of other workspaces can write too.
        """
        try:
            user = await self._user(user_id)
        except FAILURES as error:
            raise DeliveryError(
                Message("Slack does not say who is an admin."), fix=Message("Try again later.")
            ) from error
        teams = (user.get("team_id"), *(user.get("enterprise_user") or {}).get("teams", ()))
        return team in teams and bool(user.get("is_admin") or user.get("is_owner"))

    async def _user(self, user_id: str) -> Mapping[str, Any]:
        asked, user = self._known.get(user_id, (0.0, {}))
        if user and time.monotonic() - asked < _KEPT_SECONDS:
            return user
        answer = await self._client.users_info(user=user_id, include_locale=True)
        user = answer.get("user") or {}
        self._known[user_id] = (time.monotonic(), user)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return user

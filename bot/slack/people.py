"""Who somebody is, asked of Slack once an hour."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.face.face import DeliveryError
from bot.slack.errors import FAILURES, slack_reason
from bot.slack.events import SlackProfile
from engine.messages import Message

logger = logging.getLogger("presagio.slack")

_KEPT_SECONDS = 3600.0
_KEPT = 5_000
_PATIENCE_SECONDS = 3.0  # language and time zone are not worth a longer wait


class People:
    """Profiles and rights of users, cached for an hour."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._known: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    async def profile(self, user_id: str) -> SlackProfile:
        """Return language and time zone; English where Slack does not say."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                user = await self._user(user_id)
        except FAILURES as error:
            logger.info("Slack tells nothing about a user: %s", slack_reason(error))
            user = {}
        return SlackProfile(
            language=str(user.get("locale") or "en").split("-")[0], time_zone=user.get("tz")
        )

    async def is_admin(self, user_id: str, *, team: str) -> bool:
        """Tell whether the user administers the workspace `team`. Raises DeliveryError.

        In a shared channel, admins of other workspaces write too.
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

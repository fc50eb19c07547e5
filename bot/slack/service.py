"""Runs the Slack face: starts, listens, notices when it has gone deaf, stops."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp
from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.conversation import Conversation
from bot.face import FaceFailed
from bot.request import Request
from bot.slack.events import (
    SHORTCUT,
    Myself,
    Payload,
    read_command,
    read_message,
    read_press,
    read_shortcut,
)
from bot.slack.face import SlackFace
from bot.slack.http import events_application
from bot.slack.people import People

logger = logging.getLogger("presagio.slack")

_CALL_SECONDS = 20
_START_SECONDS = 20.0
_WATCH_SECONDS = 5.0
_ANY = re.compile(".*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """How Slack is reached: Socket Mode with an app token, else HTTP with a signing secret."""

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    api_base: str = "https://slack.com/api/"
    http_host: str = "127.0.0.1"
    http_port: int = 3000
    watch_seconds: float = _WATCH_SECONDS


class SlackService:
    """One app in one workspace."""

    def __init__(
        self,
        settings: SlackSettings,
        *,
        conversation: Conversation,
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._now = now
        self._client = AsyncWebClient(
            token=settings.bot_token,
            base_url=settings.api_base.rstrip("/") + "/",
            timeout=_CALL_SECONDS,
        )
        self._client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=3))
        self._face = SlackFace(self._client)
        self._people = People(self._client)
        self._myself: Myself | None = None
        self._socket: AsyncSocketModeHandler | None = None
        self._runner: web.AppRunner | None = None
        self._socket_alive = False

    @property
    def connected(self) -> bool:
        """Whether events can arrive just now."""
        return self._runner is not None or self._socket_alive

    async def run(self) -> None:
        """Answer until cancelled. Raises FaceFailed when the platform refuses at the start."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._start()
        except SlackApiError as error:
            code = str(error.response.get("error", "unknown"))
            raise FaceFailed(f"Slack refuses: {code}.", fix=_TOKEN_FIX) from error
        except (SlackClientError, aiohttp.ClientError, OSError, TimeoutError) as error:
            raise FaceFailed(
                f"Slack cannot be reached: {str(error) or 'no answer in time'}.",
                fix="Check slack.api_base and the network.",
            ) from error
        logger.info("Slack: listening")
        await self._watch()

    async def stop(self, seconds: float) -> None:
        """Stop listening; what is under way is finished by the conversation's owner."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._socket:
                    await self._socket.close_async()
                if self._runner:
                    await self._runner.cleanup()

    async def _start(self) -> None:
        who = await self._client.auth_test()
        self._myself = Myself(
            user_id=str(who["user_id"]),
            bot_id=str(who.get("bot_id")),
            profile=self._people.profile,
            is_admin=self._people.is_admin,
        )
        app = self._app(
            AuthorizeResult.from_auth_test_response(
                auth_test_response=who, bot_token=self._settings.bot_token
            )
        )
        if self._settings.app_token:
            # A bad app token would make the connection neither fail nor succeed: ask first.
            await self._client.apps_connections_open(app_token=self._settings.app_token)
            self._socket = AsyncSocketModeHandler(
                app, self._settings.app_token, web_client=self._client
            )
            await self._socket.connect_async()
            self._socket_alive = True
        else:
            self._runner = web.AppRunner(events_application(app), access_log=None)
            await self._runner.setup()
            host, port = self._settings.http_host, self._settings.http_port
            await web.TCPSite(self._runner, host, port).start()

    def _app(self, authorized: AuthorizeResult) -> AsyncApp:
        async def authorize(**_: object) -> AuthorizeResult:
            # Known since the start: a failed question in between must not cost a person's event.
            return authorized

        app = AsyncApp(
            client=self._client,
            signing_secret=self._settings.signing_secret or "unused",
            authorize=authorize,
            request_verification_enabled=not self._settings.app_token,
        )
        # Acknowledged before the work begins: work that fails at once would lose the ack.
        app.event("app_mention")(ack=_acknowledge, lazy=[self._on(_message)])
        app.event("message")(ack=_acknowledge, lazy=[self._on(_message)])
        app.event(_ANY)(ack=_acknowledge, lazy=[])
        app.command(_ANY)(ack=_acknowledge, lazy=[self._on(read_command)])
        app.action(_ANY)(ack=_acknowledge, lazy=[self._on(read_press)])
        app.shortcut(SHORTCUT)(ack=_acknowledge, lazy=[self._on(read_shortcut)])
        return app

    def _on(self, read: "Reader") -> Callable[..., Awaitable[None]]:
        async def work(body: dict[str, Any]) -> None:
            if self._myself is None:
                return
            request = await read(body, self._myself, now=self._now())
            if request is not None:
                await self._conversation.answer(request, self._face)

        return work

    async def _watch(self) -> None:
        """Notice a deaf socket: an address serves once, and the client would retry a used one."""
        while True:
            await asyncio.sleep(self._settings.watch_seconds)
            if self._socket is None or await self._socket.client.is_connected():
                self._socket_alive = True
                continue
            self._socket_alive = False
            logger.warning("Slack: the socket is closed; asking for a new address")
            self._socket.client.wss_uri = None


Reader = Callable[..., Awaitable[Request | None]]


async def _acknowledge(ack: Callable[[], Awaitable[None]]) -> None:
    await ack()


async def _message(body: Payload, myself: Myself, *, now: datetime) -> Request | None:
    event = body.get("event")
    return await read_message(event, body, myself, now=now) if isinstance(event, Mapping) else None


_TOKEN_FIX = "Check SLACK_BOT_TOKEN and SLACK_APP_TOKEN."  # noqa: S105 - no secret

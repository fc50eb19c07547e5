"""Runs the Slack adapter: starts, listens, notices a dead socket, stops."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from email.message import EmailMessage
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.adapter.starlette.async_handler import to_starlette_response
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from bot.adapter import AdapterFailed, AdapterStatus
from bot.conversation.conversation import Conversation
from bot.listening import Webhook, read_body
from bot.request import Request
from bot.settings.model import SlackSettings
from bot.slack.adapter import SlackAdapter
from bot.slack.client import (
    FAILURES,
    Channels,
    People,
    create_web_client,
    describe_slack_error,
    download_file,
    is_outage,
    read_shown_message,
)
from bot.slack.events import (
    PLATFORM,
    SHORTCUT,
    Payload,
    SlackIdentity,
    read_command,
    read_joined,
    read_message,
    read_press,
    read_shortcut,
)
from engine.errors import explain_error
from engine.messages import Message

logger = logging.getLogger("presagio.slack")

PATH = "/slack/events"
# Bolt assumes that every field has the right type.
_MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)

_START_SECONDS = 15.0
_LONGEST_PAUSE = 30.0
_CLOSE_SECONDS = 2.0
_WATCH_SECONDS = 5.0
_ANY = re.compile(".*")
_TOKENS = "Check SLACK_BOT_TOKEN and SLACK_APP_TOKEN."

# The library logs addresses that give access to anyone who reads them.
_silent = logging.getLogger("presagio.slack.socket")

Reader = Callable[..., Awaitable[Request | None]]
_READERS: dict[str, Reader] = {
    "app_mention": read_message,
    "message": read_message,
    "member_joined_channel": read_joined,
}


class PushedEvents:
    """Hands signed requests to Bolt while open; Slack sends refused ones again."""

    def __init__(self, signing_secret: str) -> None:
        self._verifier = SignatureVerifier(signing_secret)
        self._build_app: AsyncApp | None = None

    def open(self, app: AsyncApp) -> None:
        """Hand requests to `app` from now on."""
        self._build_app = app

    def close(self) -> None:
        """Take no new requests."""
        self._build_app = None

    async def answer(self, request: HttpRequest) -> Response:
        """Return Bolt's answer, 401 for requests that Slack did not sign, 400 for anything that is
        not an event, 503 while closed."""
        body = await read_body(request)
        if not self._is_signed(body, request):
            logger.warning("Slack: refused a request without a valid signature")
            return Response(status_code=401)
        if self._build_app is None:
            return Response(status_code=503)
        try:
            return to_starlette_response(
                await self._build_app.async_dispatch(_bolt_request(body, request))
            )
        except _MALFORMED as error:
            logger.warning("Slack: an event cannot be read: %s", explain_error(error))
            return Response(status_code=400)

    def _is_signed(self, body: bytes, request: HttpRequest) -> bool:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        try:
            return self._verifier.is_valid(body, timestamp, signature)
        except (OverflowError, TypeError, ValueError):  # no time, not UTF-8, not ASCII
            return False


def _bolt_request(body: bytes, request: HttpRequest) -> AsyncBoltRequest:
    """Raises LookupError or UnicodeDecodeError for a body that is not text."""
    described = EmailMessage()
    described["Content-Type"] = request.headers.get("Content-Type", "")
    return AsyncBoltRequest(
        body=body.decode(described.get_content_charset("utf-8")),
        query=request.url.query,
        headers=request.headers,  # type: ignore[arg-type]  # a mapping of str to str
    )


_silent.setLevel(logging.CRITICAL + 1)


class SlackService:
    """One app in one workspace: Socket Mode with an app token, else HTTP with a signing secret."""

    def __init__(
        self,
        settings: SlackSettings,
        *,
        bot_token: str,
        app_token: str = "",
        signing_secret: str = "",
        conversation: Conversation,
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._bot_token = bot_token
        self._app_token, self._signing_secret = app_token, signing_secret
        self._conversation = conversation
        self._now = now
        self._client = create_web_client(bot_token, settings.api_base)
        self._adapter = SlackAdapter(self._client)
        self._people, self._channels = People(self._client), Channels(self._client)
        self._order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._socket: SocketModeClient | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._pushed = PushedEvents(signing_secret) if signing_secret and not app_token else None
        self._connected = False

    @property
    def webhook(self) -> Webhook | None:
        """The webhook that Slack sends events to, or None in Socket Mode."""
        if self._pushed is None:
            return None
        return Webhook(platform=PLATFORM, path=PATH, answer=self._pushed.answer)

    def status(self) -> AdapterStatus:
        """Return whether events can be received now."""
        way = "Socket Mode" if self._app_token else "HTTP"
        return AdapterStatus(listening=self._connected, way=way)

    async def run(self) -> None:
        """Answer until cancelled. Raises AdapterFailed when the platform refuses at the start.

        Events over HTTP have to reach `webhook`. After cancellation no new events are taken;
        requests under way can still be answered.
        """
        try:
            await self._start_patiently()
            await self._watch_socket()
        except SlackApiError as error:
            raise AdapterFailed(
                Message("Slack refuses: {reason}.", reason=describe_slack_error(error)), fix=_TOKENS
            ) from error
        finally:
            await self.stop(_CLOSE_SECONDS)

    async def stop(self, seconds: float) -> None:
        """Stop receiving. Stopping twice does no harm."""
        self._connected = False
        if self._pushed:
            self._pushed.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._connecting:
                    self._connecting.cancel()
                if self._socket and not self._socket.closed:
                    await self._socket.close()  # type: ignore[no-untyped-call]  # not annotated

    async def _start_patiently(self) -> None:
        """Start, waiting out outages. Raises SlackApiError, AdapterFailed."""
        failures = 0
        while True:
            try:
                async with asyncio.timeout(_START_SECONDS):
                    await self._connect()
            except FAILURES as error:
                if not is_outage(error):
                    raise
                failures += 1
                pause = min(2.0 ** min(failures - 1, 10), _LONGEST_PAUSE)
                logger.warning(
                    "Slack cannot be reached (%s); trying again in %.0f s",
                    describe_slack_error(error),
                    pause,
                )
                await asyncio.sleep(pause)
            else:
                return

    async def _connect(self) -> None:
        if not self._app_token and not self._pushed:
            raise AdapterFailed(
                Message("Slack: there is neither an app token nor a signing secret."),
                fix=Message("Set SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP)."),
            )
        who = await self._client.auth_test()
        app = self._build_app(
            AuthorizeResult.from_auth_test_response(
                auth_test_response=who, bot_token=self._bot_token
            ),
            SlackIdentity(
                user_id=str(who["user_id"]),
                profile=self._people.read_profile,
                is_admin=partial(self._people.is_admin, team=str(who["team_id"])),
                is_member=self._channels.is_member,
                message=partial(read_shown_message, self._client),
                download=partial(download_file, self._client),
            ),
        )
        self._conversation.resume_compositions(self._adapter, self._now)
        if self._pushed:
            self._pushed.open(app)
            self._connected = True
        else:
            await self._open_socket(app)

    async def _open_socket(self, app: AsyncApp) -> None:
        token = self._app_token
        # With a bad token, connecting would neither fail nor end: check it first.
        opened = await self._client.apps_connections_open(app_token=token)
        handler = AsyncSocketModeHandler(
            app, token, logger=_silent, web_client=self._client, ping_interval=2 * _WATCH_SECONDS
        )
        self._socket = handler.client
        self._socket.wss_uri = opened["url"]
        # It retries forever if it fails; `_watch` resets a socket that stays dead.
        self._connecting = asyncio.create_task(self._socket.connect())  # type: ignore[no-untyped-call]  # not annotated

    def _build_app(self, authorized: AuthorizeResult, myself: SlackIdentity) -> AsyncApp:
        async def authorize(**_: object) -> AuthorizeResult:
            # Known since the start: a failed lookup must not lose a person's event.
            return authorized

        def on(read: Reader) -> Callable[..., Awaitable[None]]:
            async def work(body: dict[str, Any]) -> None:
                await self._answer_event(read, body, myself)

            return work

        app = AsyncApp(
            name="slack_bolt",  # otherwise it reads its callers' source to find a file name
            client=self._client,
            signing_secret=self._signing_secret,
            authorize=authorize,
            request_verification_enabled=False,  # see _verifier: before anything is read
        )
        app.error(_raise_error)
        # Acknowledged before the work begins: work that fails at once would prevent it.
        for name, read in _READERS.items():
            app.event(name)(ack=_acknowledge, lazy=[on(_of_event(read))])
        app.event(_ANY)(ack=_acknowledge, lazy=[])
        commands = partial(read_command, is_command=self._conversation.registry.is_like_command)
        app.command(_ANY)(ack=_acknowledge, lazy=[on(commands)])
        app.action(_ANY)(ack=_acknowledge, lazy=[on(read_press)])
        app.shortcut(SHORTCUT)(ack=_acknowledge, lazy=[on(read_shortcut)])
        return app

    async def _answer_event(
        self, read: Reader, body: dict[str, Any], myself: SlackIdentity
    ) -> None:
        with self._conversation.expect_event():
            # Profiles have to be fetched: people whose profile is cached must not overtake others.
            async with self._order.setdefault(_identify_channel(body), asyncio.Lock()):
                request = await read(body, myself, now=self._now())
                request = request and await self._channels.name(request)
            if request is not None:
                await self._conversation.answer(request, self._adapter)

    async def _watch_socket(self) -> None:
        """Reset a dead socket: an address works once, and the client would retry a used one."""
        if self._connecting:
            await asyncio.wait({self._connecting}, timeout=_WATCH_SECONDS)
        while True:
            if self._socket:
                was, self._connected = self._connected, await self._socket.is_connected()
                if was and not self._connected:
                    logger.warning("Slack: the socket is closed; it is opened again")
                if not self._connected:
                    self._socket.wss_uri = None
            await asyncio.sleep(_WATCH_SECONDS)


def _identify_channel(body: Payload) -> str:
    """Return what identifies the channel of a payload."""
    inner = body.get("event") or body
    channel = inner.get("channel") or inner.get("channel_id")
    return str(channel["id"] if isinstance(channel, Mapping) else channel)


async def _raise_error(error: Exception) -> None:
    """Raise an error to the caller: Bolt would log the text it quotes."""
    raise error


async def _acknowledge(ack: Callable[[], Awaitable[None]]) -> None:
    await ack()


def _of_event(read: Reader) -> Reader:
    """Return a reader of payloads that reads the event in each."""

    async def read_event(body: Payload, myself: SlackIdentity, *, now: datetime) -> Request | None:
        return await read(body["event"], body, myself, now=now)

    return read_event

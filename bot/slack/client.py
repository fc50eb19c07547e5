"""The client of Slack's Web API: manifest, checks of its tokens, profiles, and its errors."""

import asyncio
import logging
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.http_retry.builtin_async_handlers import (
    AsyncConnectionErrorRetryHandler,
    AsyncRateLimitErrorRetryHandler,
)
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapter import (
    AdapterFailed,
    ChatGone,
    DeliveryError,
    DeliveryRefused,
    PlatformFailed,
    SlowDown,
    TokenRefused,
    Unsure,
    WritingForbidden,
)
from bot.commands import Command
from bot.i18n.words import Words
from bot.request import Request
from bot.slack.events import PLATFORM, SHORTCUT, SlackProfile
from engine.errors import UsageError
from engine.messages import Message

# The errors that a library call may raise; a timeout is an OSError.
FAILURES = (SlackClientError, aiohttp.ClientError, OSError)

_RETRY_SECONDS = 30.0  # if Slack asks to wait and does not say how long
_OUTSIDE = {"channel_not_found", "not_in_channel"}
_GONE = {*_OUTSIDE, "is_archived"}
# Slack or the token is at fault, not the message, which was not shown.
_LATER = {
    *("account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"),
    *("org_login_required", "team_added_to_org", "team_access_not_granted", "missing_scope"),
}
# Settings of the channel, which its admins can undo.
_FORBIDDEN_FOR_NOW = ("restricted_action", "messages_tab_disabled", "no_permission")
_UNSURE = {"fatal_error", "internal_error", "request_timeout", "service_unavailable"}
_CODE = re.compile(r"[a-z0-9_:.,-]{1,60}")

_PREFIX = re.compile(r"[a-z0-9_]{1,14}-", re.ASCII)

SCOPES = (
    "app_mentions:read",
    "channels:history",
    "chat:write",
    "commands",
    "files:write",
    "groups:history",
    "im:history",
    "reactions:write",
    "users:read",
)
# Without these, the bot greets nobody when it is invited, tells no names of channels, subscribes
# those in which it is no member, and cannot read archives that the owner sends; all else works.
OPTIONAL_SCOPES = ("channels:read", "files:read", "groups:read")
EVENTS = (
    "app_mention",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
)

logger = logging.getLogger("presagio.slack")

_CALL_SECONDS = 20
_DOWNLOAD_SECONDS = 180.0
_MAX_DOWNLOADED = 200_000_000  # bytes
_CHECK_SECONDS = 10.0
_KEPT_SECONDS = 300.0  # in which somebody may still use a right that was taken away
_KEPT = 5_000
_PATIENCE_SECONDS = 3.0  # a language and time zone are not worth a longer wait


@asynccontextmanager
async def map_slack_errors() -> AsyncIterator[None]:
    """Map the library's errors to what they mean for the message.

    Raises ChatGone, SlowDown, DeliveryRefused, Unsure, and a plain DeliveryError where the message
    was not shown and may be tried again.
    """
    try:
        yield
    except FAILURES as error:
        raise _map_error(error) from error


def _map_error(error: Exception) -> DeliveryError:  # noqa: PLR0911 - a line a cause
    if isinstance(error, aiohttp.ClientConnectorError):
        return DeliveryError(Message("Slack cannot be reached."))
    if (wait := _read_wait(error)) is not None:
        return SlowDown(wait)
    code, reason = read_code(error), describe_slack_error(error)
    if not code or code in _UNSURE:
        unsure = Message("Slack did not say whether the message arrived: {reason}.", reason=reason)
        failed = code or (_read_status(error) or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR
        return PlatformFailed(unsure) if failed else Unsure(unsure)
    if code in _GONE:
        return ChatGone(Message("Slack refuses: {reason}.", reason=reason))
    if code.startswith(_FORBIDDEN_FOR_NOW):
        return WritingForbidden(
            Message("Slack does not let the bot write: {reason}.", reason=reason),
            fix=Message("Let it write there; the post is kept for a day."),
        )
    if code in _LATER:
        return DeliveryError(Message("Slack refuses for now: {reason}.", reason=reason))
    return DeliveryRefused(Message("Slack refuses the message: {reason}.", reason=reason))


def _read_wait(error: Exception) -> float | None:
    """Return how many seconds Slack asks to wait, or None."""
    if read_code(error) != "ratelimited" and _read_status(error) != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    headers = error.response.headers if isinstance(error, SlackApiError) else {}
    seconds = str(headers.get("Retry-After", ""))
    return float(seconds) if seconds.isdecimal() else _RETRY_SECONDS


def read_code(error: Exception) -> str:
    """Return Slack's error code, or an empty string if the answer was not Slack's own."""
    return _read_code_field(error, "error")


def describe_slack_error(error: Exception) -> str:
    """Return Slack's error code and the missing scope, or else the status or type."""
    if needed := _read_code_field(error, "needed"):
        return f"{read_code(error)} (needs {needed})"
    status = _read_status(error)
    return read_code(error) or (f"status {status}" if status else type(error).__name__)


def is_outage(error: Exception) -> bool:
    """Return whether Slack could not be asked or asks to wait, rather than refusing."""
    return not read_code(error) or read_code(error) in _UNSURE or _read_wait(error) is not None


def explain_missing_picture(error: Exception, words: Words) -> str:
    """Return what a person can do about a picture that did not arrive."""
    if read_code(error) in _OUTSIDE:
        return words.say(
            "I can put no picture here before I am invited: /invite @Presagio, then ask again."
        )
    if needed := _read_code_field(error, "needed"):
        return words.say(
            "I can send no pictures: this app misses the scope {scope}. Its owner has to update it"
            " from the manifest and install it again.",
            scope=needed,
        )
    return words.say(
        "Slack did not take the picture ({code}). Try again later.",
        code=describe_slack_error(error),
    )


def _read_code_field(error: Exception, name: str) -> str:
    """Return a field of Slack's answer if it holds a code, or else an empty string."""
    response = error.response if isinstance(error, SlackApiError) else None
    value = response.get(name) if isinstance(response, AsyncSlackResponse) else None
    return value if isinstance(value, str) and _CODE.fullmatch(value) else ""


def _read_status(error: Exception) -> int | None:
    response = error.response if isinstance(error, SlackApiError) else None
    return response.status_code if isinstance(response, AsyncSlackResponse) else None


def build_manifest(
    commands: Sequence[Command], *, request_url: str = "", prefix: str = ""
) -> dict[str, object]:
    """Return the manifest; events come over HTTP if `request_url` is given, else over a socket.

    With a `prefix` such as "omen-", each command also has a name of its own: /omen-why. Raises
    UsageError for one that Slack would refuse.
    """
    _require_prefix(prefix)
    over = {"request_url": request_url} if request_url else {}
    return {
        "display_information": {
            "name": "Presagio",
            "description": "There is always a tweet: old posts that foresaw today's headlines.",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Presagio", "always_online": True},
            "shortcuts": [
                {
                    "name": "Find the prophecy",
                    "type": "message",
                    "callback_id": SHORTCUT,
                    "description": "Look for old tweets that foretold this",
                }
            ],
            "slash_commands": list(_describe_slashes(commands, prefix, request_url)),
        },
        "oauth_config": {"scopes": {"bot": sorted((*SCOPES, *OPTIONAL_SCOPES))}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS)} | over,
            "interactivity": {"is_enabled": True} | over,
            "org_deploy_enabled": False,
            "socket_mode_enabled": not request_url,
            "token_rotation_enabled": False,
        },
    }


def create_web_client(bot_token: str, api_base: str, *, retries: bool = True) -> AsyncWebClient:
    """Return a client that sends nothing twice: it retries only what Slack did not accept."""
    refused = AsyncRateLimitErrorRetryHandler(max_retry_count=3)
    unreached = AsyncConnectionErrorRetryHandler(error_types=[aiohttp.ClientConnectorError])
    return AsyncWebClient(
        token=bot_token,
        base_url=api_base.rstrip("/") + "/",
        timeout=_CALL_SECONDS,
        retry_handlers=[refused, unreached] if retries else [],
    )


async def check_slack(bot_token: str, app_token: str, signing_secret: str, api_base: str) -> str:
    """Return a line about the app. Raises AdapterFailed."""
    client = create_web_client(bot_token, api_base)
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            who = await client.auth_test()
            if app_token:
                await client.apps_connections_open(app_token=app_token)
    except SlackApiError as error:
        raise TokenRefused(
            Message("Slack refuses: {reason}.", reason=describe_slack_error(error)),
            fix=Message("Check SLACK_BOT_TOKEN and SLACK_APP_TOKEN."),
        ) from error
    except FAILURES as error:
        raise AdapterFailed(
            Message("Slack cannot be reached ({reason}).", reason=describe_slack_error(error)),
            fix=Message("Check slack.api_base and the network."),
        ) from error
    if missing := _find_missing_scopes(str(who.headers.get("x-oauth-scopes", ""))):
        raise AdapterFailed(
            Message("Slack did not grant: {missing}.", missing=", ".join(missing)),
            fix=Message(
                "Upload the manifest of `presagio slack manifest` and install the app again."
            ),
        )
    if not app_token and not signing_secret:
        raise AdapterFailed(
            Message("Neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set."),
            fix=Message("Set the first for Socket Mode, the second for events over HTTP."),
        )
    way = "Socket Mode" if app_token else "events over HTTP"
    return f"{who.get('user')} in {who.get('team')}, {way}"


def _find_missing_scopes(granted: str) -> list[str]:
    """Return the scopes that are not granted; an empty list if Slack does not say."""
    scopes = {scope.strip() for scope in granted.split(",") if scope.strip()}
    return [scope for scope in SCOPES if scope not in scopes] if scopes else []


async def read_shown_message(client: AsyncWebClient, channel: str, ts: str) -> Mapping[str, Any]:
    """Return a message, such as the first one of a thread; empty if Slack does not show it."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            page = await client.conversations_replies(
                channel=channel, ts=ts, oldest=ts, latest=ts, inclusive=True
            )
    except FAILURES as error:
        logger.info("Slack does not show a message: %s", describe_slack_error(error))
        return {}
    return next((message for message in page.get("messages") or () if message.get("ts") == ts), {})


async def download_file(client: AsyncWebClient, url: str, to: Path) -> None:
    """Write a file that somebody shared to a path. Raises DeliveryError.

    The token goes to Slack alone, whatever the address of the file says. Without the scope, Slack
    answers with a page to log in.
    """
    try:
        address, own = urlsplit(url), urlsplit(client.base_url)
    except ValueError as exc:
        raise DeliveryRefused(Message("Slack does not keep this file.")) from exc
    of_slack = address.scheme == "https" and (address.hostname or "").endswith(".slack.com")
    if not of_slack and (address.scheme, address.netloc) != (own.scheme, own.netloc):
        raise DeliveryRefused(Message("Slack does not keep this file."))
    headers, limit = {"Authorization": f"Bearer {client.token}"}, _MAX_DOWNLOADED
    seconds = aiohttp.ClientTimeout(total=_DOWNLOAD_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=seconds) as session,
            session.get(url, headers=headers, allow_redirects=False) as answer,
        ):
            if answer.status != HTTPStatus.OK or answer.content_type == "text/html":
                raise DeliveryRefused(
                    Message(
                        "Slack lets me read files only with the scope files:read: write"
                        " the manifest again with presagio slack manifest."
                    )
                )
            with to.open("wb") as file:
                async for chunk in answer.content.iter_chunked(1 << 16):
                    limit -= len(chunk)
                    if limit < 0:
                        raise DeliveryRefused(
                            Message("Slack sends more than the file is said to have.")
                        )
                    file.write(chunk)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise DeliveryError(
            Message("Slack does not send the file."), fix=Message("Try again later.")
        ) from error


@dataclass(frozen=True, slots=True)
class _ChannelFacts:
    name: str | None = None  # None if Slack does not say, as of direct messages
    member: bool = True  # the bot, as far as is known


class Channels:
    """Names of channels and whether the bot is a member, cached for five minutes."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._known: OrderedDict[str, tuple[float, _ChannelFacts]] = OrderedDict()

    async def name(self, request: Request) -> Request:
        """Return a request whose place has the name of its channel, if Slack tells it."""
        place = request.place
        if place.private or place.title:
            return request
        facts = await self._look_up(place.chat_id)
        return replace(request, place=replace(place, title=facts.name))

    async def is_member(self, channel: str) -> bool:
        """Return whether the bot is in a channel; True if Slack does not say."""
        self._known.pop(channel, None)  # it may have been invited a moment ago
        return (await self._look_up(channel)).member

    async def _look_up(self, channel: str) -> _ChannelFacts:
        asked, facts = self._known.get(channel, (-_KEPT_SECONDS, _ChannelFacts()))
        if time.monotonic() - asked < _KEPT_SECONDS:
            return facts
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                answer = await self._client.conversations_info(channel=channel)
            facts = _read_channel(answer.get("channel") or {})
        except FAILURES as error:
            logger.info("Slack tells nothing about a channel: %s", describe_slack_error(error))
            facts = _ChannelFacts(member=read_code(error) not in _OUTSIDE)
        self._known[channel] = (time.monotonic(), facts)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return facts


def _read_channel(channel: Mapping[str, Any]) -> _ChannelFacts:
    direct = channel.get("is_im") or channel.get("is_mpim")
    name = None if direct else channel.get("name")
    member = bool(channel.get("is_im") or channel.get("is_member", True))
    return _ChannelFacts(name=f"#{name}" if name else None, member=member)


class People:
    """Profiles and rights of users, cached for five minutes."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._known: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    async def read_profile(self, user_id: str) -> SlackProfile:
        """Return language and time zone; English if Slack does not say."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                user = await self._fetch_user(user_id)
        except FAILURES as error:
            logger.info("Slack tells nothing about a user: %s", describe_slack_error(error))
            user = {}
        return SlackProfile(
            language=str(user.get("locale") or "en").split("-")[0],
            time_zone=user.get("tz"),
            name=str(user.get("real_name") or user.get("name") or ""),
        )

    async def is_admin(self, user_id: str, *, team: str) -> bool:
        """Return whether the user administers the workspace `team`. Raises DeliveryError.

        In a shared channel, admins of other workspaces can write too.
        """
        try:
            user = await self._fetch_user(user_id)
        except FAILURES as error:
            raise DeliveryError(
                Message("Slack does not say who is an admin."), fix=Message("Try again later.")
            ) from error
        teams = (user.get("team_id"), *(user.get("enterprise_user") or {}).get("teams", ()))
        return team in teams and bool(user.get("is_admin") or user.get("is_owner"))

    async def _fetch_user(self, user_id: str) -> Mapping[str, Any]:
        asked, user = self._known.get(user_id, (0.0, {}))
        if user and time.monotonic() - asked < _KEPT_SECONDS:
            return user
        answer = await self._client.users_info(user=user_id, include_locale=True)
        user = answer.get("user") or {}
        self._known[user_id] = (time.monotonic(), user)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return user


def _require_prefix(prefix: str) -> None:
    if prefix and not _PREFIX.fullmatch(prefix):
        raise UsageError(
            Message("{prefix!r} is no prefix. An example: omen-", prefix=prefix),
            fix=Message(
                "Use up to {maximum} of a-z, 0-9 and _, and a hyphen at the end.", maximum=15
            ),
        )


def _describe_slashes(
    commands: Sequence[Command], prefix: str, request_url: str
) -> Iterator[dict[str, object]]:
    """Yield the slash commands of the manifest; the last takes any command of the bot."""
    said_of_own = "any command of Presagio, such as /presagio why"
    named = [
        (name, command.summary[:2000], command.usage)
        for command in commands
        for name in (
            *(f"/{name}" for name in command.names_on(PLATFORM)),
            *([f"/{prefix}{command.name}"] if prefix else []),
        )
    ]
    for name, description, usage in (*named, ("/presagio", said_of_own, "/presagio SUBCOMMAND")):
        yield {
            "command": name,
            "description": description,
            "should_escape": False,
            "usage_hint": usage.partition(" ")[2] or " ",
            **({"url": request_url} if request_url else {}),
        }

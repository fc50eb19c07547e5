"""Posting to Slack unasked; implements bot.face.Poster.

Every message carries its key as metadata, and every picture as its file name: what may have
arrived can be looked up before it is sent again.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.face import ChatGone, DeliveryError, Refused, SlowDown, Unsure
from bot.reply import Reply
from bot.slack.events import PLATFORM
from bot.slack.render import blocks, escaped, fallback
from engine.chat import Chat

logger = logging.getLogger("presagio.slack")

_METADATA = "presagio_post"
_SECONDS = 20
_RETRY_SECONDS = 30.0  # where Slack asks to wait and does not say how long
_PAGE = 200
_PAGES = 10

_GONE = {"channel_not_found", "is_archived", "not_in_channel"}
_NO_THREAD = {"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message"}
# Something is wrong with Slack or the token, not with the message, which was not shown.
_LATER = {
    *("account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"),
    *("org_login_required", "team_added_to_org", "team_access_not_granted", "missing_scope"),
}
_UNSURE = {"fatal_error", "internal_error", "request_timeout", "service_unavailable"}


class SlackPoster:
    """One app in one workspace. What Slack asks to do later is left to the outbox."""

    platform = PLATFORM

    def __init__(self, bot_token: str, *, api_base: str) -> None:
        self._client = AsyncWebClient(
            token=bot_token,
            base_url=api_base.rstrip("/") + "/",
            timeout=_SECONDS,
            retry_handlers=[],
        )

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:
        """Show the reply and return its timestamp, or the file's id. Raises what Poster says."""
        async with _mapped():
            try:
                return await self._show(chat.external_id, thread, reply, key)
            except SlackApiError as error:
                if thread is None or _code(error) not in _NO_THREAD:
                    raise
                return await self._show(chat.external_id, None, reply, key)

    async def find_posted(
        self, chat: Chat, thread: str | None, key: str, since: datetime
    ) -> str | None:
        """Return the timestamp of the message with that key, or None.

        None, too, where the app lacks the scope to read the chat. Raises DeliveryError.
        """
        async with _mapped():
            try:
                if thread and (found := await self._look(chat, key, since, thread)):
                    return found
                return await self._look(chat, key, since, None)
            except SlackApiError as error:
                if _code(error) != "missing_scope":
                    raise
                logger.warning("Slack: cannot look for what may have arrived: %s", _said(error))
                return None

    async def close(self) -> None:
        """Do nothing: each call opens its own connection."""

    async def _show(self, channel: str, thread: str | None, reply: Reply, key: str) -> str:
        if reply.picture:
            shown = await self._client.files_upload_v2(
                channel=channel,
                thread_ts=thread,
                content=reply.picture,
                filename=_file_name(key),
                title=_file_name(key),
                initial_comment=escaped(reply.text) if reply.text else None,
            )
            return str(shown["files"][0]["id"])
        shown = await self._client.chat_postMessage(
            channel=channel,
            thread_ts=thread,
            text=fallback(reply),
            blocks=blocks(reply),
            metadata={"event_type": _METADATA, "event_payload": {"key": key}},
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(shown["ts"])

    async def _look(self, chat: Chat, key: str, since: datetime, thread: str | None) -> str | None:
        cursor = ""
        for _ in range(_PAGES):
            page = await self._page(chat, since, thread, cursor)
            for message in page["messages"]:
                if _carries(message, key):
                    return str(message["ts"])
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return None
        raise Unsure(f"Slack has said too much since to tell whether {key} arrived.")

    async def _page(
        self, chat: Chat, since: datetime, thread: str | None, cursor: str
    ) -> AsyncSlackResponse:
        asked: dict[str, Any] = {
            "channel": chat.external_id,
            "oldest": f"{since.timestamp():.6f}",
            "limit": _PAGE,
            "cursor": cursor or None,
            "include_all_metadata": True,
        }
        if thread:
            return await self._client.conversations_replies(ts=thread, **asked)
        return await self._client.conversations_history(**asked)


def _file_name(key: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in key) + ".png"


def _carries(message: Mapping[str, Any], key: str) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    names = {file.get("name") for file in message.get("files") or ()}
    return payload.get("key") == key or _file_name(key) in names


@asynccontextmanager
async def _mapped() -> AsyncIterator[None]:
    """Map the library's errors to what they mean for the message."""
    try:
        yield
    except SlackApiError as error:
        raise _meaning(error) from error
    except aiohttp.ClientConnectorError as error:
        raise DeliveryError("Slack cannot be reached.") from error
    except (SlackClientError, aiohttp.ClientError, OSError) as error:  # a timeout is an OSError
        raise Unsure(f"Slack did not say whether it arrived ({type(error).__name__}).") from error


def _meaning(error: SlackApiError) -> DeliveryError:
    code, response = _code(error), error.response
    if code == "ratelimited" or _status(response) == 429:
        wait = str(response.headers.get("Retry-After", ""))
        return SlowDown(float(wait) if wait.isdecimal() else _RETRY_SECONDS)
    if code in _GONE:
        return ChatGone(f"Slack refuses: {_said(error)}.")
    if code in _UNSURE or not code:
        return Unsure(f"Slack did not say whether it arrived: {_said(error)}.")
    if code in _LATER:
        return DeliveryError(f"Slack refuses for now: {_said(error)}.")
    return Refused(f"Slack refuses the message: {_said(error)}.")


def _code(error: SlackApiError) -> str:
    """Return Slack's word for an error; empty where the answer was none of Slack's own."""
    response = error.response
    return str(response.get("error") or "") if isinstance(response, AsyncSlackResponse) else ""


def _status(response: object) -> int | None:
    return response.status_code if isinstance(response, AsyncSlackResponse) else None


def _said(error: SlackApiError) -> str:
    needed = error.response.get("needed") if _code(error) else None
    said = _code(error) or f"status {_status(error.response)}"
    return f"{said} (needs {needed})" if needed else said

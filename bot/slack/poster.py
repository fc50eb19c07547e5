"""Sends scheduled posts to Slack; implements Poster of bot.adapter."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import Block
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapter import Unsure
from bot.reply import Reply
from bot.slack.client import (
    describe_slack_error,
    map_slack_errors,
    read_code,
)
from bot.slack.events import PLATFORM
from bot.slack.render import (
    render_blocks,
    render_fallback,
    show_with_picture,
)
from engine.chat import Chat
from engine.messages import Message

logger = logging.getLogger("presagio.slack")

_POST_METADATA = "presagio_post"
_SECONDS = 20
_PAGE_SIZE = 200
_PAGES = 10
_PEOPLE = ("U", "W")
_NO_THREAD = {"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message"}


class SlackPoster:
    """One app in one workspace. When Slack asks to wait, the outbox sends again later.

    Every message carries its key as metadata, and a file as its name, so a message that may have
    arrived can be looked up before it is sent again.
    """

    platform = PLATFORM

    def __init__(self, bot_token: str, *, api_base: str) -> None:
        self._client = AsyncWebClient(
            token=bot_token,
            base_url=api_base.rstrip("/") + "/",
            timeout=_SECONDS,
            retry_handlers=[],
        )

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:
        """Show the reply; return its timestamp or file id. Raises as documented in Poster."""
        async with map_slack_errors():
            try:
                return await self._show(chat.external_id, thread, reply, key)
            except SlackApiError as error:
                if thread is None or read_code(error) not in _NO_THREAD:
                    raise
                return await self._show(chat.external_id, None, reply, key)

    async def find_posted(
        self, chat: Chat, thread: str | None, key: str, since: datetime
    ) -> str | None:
        """Return the timestamp of the message with that key, or None.

        Also None where the app lacks the scope to read the chat, and in a chat that is named by its
        person's id, which Slack takes for posting alone. Raises DeliveryError.
        """
        if chat.external_id.startswith(_PEOPLE):
            return None
        async with map_slack_errors():
            try:
                if thread and (found := await self._search_chat(chat, key, since, thread)):
                    return found
                return await self._search_chat(chat, key, since, None)
            except SlackApiError as error:
                if read_code(error) != "missing_scope":
                    raise
                logger.warning(
                    "Slack: cannot look for what may have arrived: %s", describe_slack_error(error)
                )
                return None

    async def close(self) -> None:
        """Do nothing: each call opens its own connection."""

    async def _show(self, channel: str, thread: str | None, reply: Reply, key: str) -> str:
        async def send(shown: Sequence[Block]) -> str:
            sent = await self._client.chat_postMessage(
                channel=channel,
                thread_ts=thread,
                text=render_fallback(reply),
                blocks=shown,
                metadata={"event_type": _POST_METADATA, "event_payload": {"key": key}},
                unfurl_links=False,
                unfurl_media=False,
            )
            return str(sent["ts"])

        if not reply.picture:
            return await send(render_blocks(reply))
        return await show_with_picture(
            self._client,
            reply,
            send,
            channel=channel,
            thread=thread,
            file_name=_make_file_name(key),
        )

    async def _search_chat(
        self, chat: Chat, key: str, since: datetime, thread: str | None
    ) -> str | None:
        cursor = ""
        for _ in range(_PAGES):
            page = await self._read_page(chat, since, thread, cursor)
            for message in page["messages"]:
                if _has_key(message, key):
                    return str(message["ts"])
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return None
        raise Unsure(
            Message("Slack has said too much since to tell whether {key} arrived.", key=key)
        )

    async def _read_page(
        self, chat: Chat, since: datetime, thread: str | None, cursor: str
    ) -> AsyncSlackResponse:
        asked: dict[str, Any] = {
            "channel": chat.external_id,
            "oldest": f"{since.timestamp():.6f}",
            "limit": _PAGE_SIZE,
            "cursor": cursor or None,
            "include_all_metadata": True,
        }
        if thread:
            return await self._client.conversations_replies(ts=thread, **asked)
        return await self._client.conversations_history(**asked)


def _make_file_name(key: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in key) + ".png"


def _has_key(message: Mapping[str, Any], key: str) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    names = {file.get("name") for file in message.get("files") or ()}
    return payload.get("key") == key or _make_file_name(key) in names

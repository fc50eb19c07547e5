"""Sends answers and posts to Slack; implements Adapter and Poster of bot.adapter."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import Block
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.adapter import ChatGone, DeliveryError, Unsure
from bot.replies.limits import cut
from bot.reply import Reply
from bot.request import Request
from bot.slack.client import (
    FAILURES,
    create_web_client,
    describe_slack_error,
    explain_missing_picture,
    map_slack_errors,
    read_code,
)
from bot.slack.events import ACTION_PREFIX, PLATFORM, Payload
from bot.slack.render import (
    compose_text,
    post_to_channel,
    render_actions,
    render_blocks,
    render_fallback,
)
from engine.chat import Chat
from engine.messages import Message

logger = logging.getLogger("presagio.slack")
_REACTION = "crystal_ball"
_NAMES_OF_REACTIONS = {"👍": "thumbsup"}
_LONGEST_HEADLINE = 200
_SIGN_SECONDS = 3.0  # a sign of life that takes longer is useless
_METADATA = "presagio_answer"
_POST_METADATA = "presagio_post"
_PAGE_SIZE = 200
_PAGES = 10
_PEOPLE = ("U", "W")
_NO_THREAD = {"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message"}


class SlackAdapter:
    """Shows replies in channels, threads, direct messages and on buttons."""

    platform = PLATFORM

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._busy_tasks: set[asyncio.Task[None]] = set()

    async def show_busy(self, request: Request) -> None:
        """React with a crystal ball to the message being answered, without waiting for it."""
        if message := _message_ts(request):
            showing = asyncio.create_task(self._react(request.place.chat_id, message, _REACTION))
            self._busy_tasks.add(showing)
            showing.add_done_callback(self._busy_tasks.discard)

    async def _react(self, channel: str, message: str, name: str) -> None:
        try:
            async with asyncio.timeout(_SIGN_SECONDS):
                await self._client.reactions_add(channel=channel, name=name, timestamp=message)
        except FAILURES as error:
            logger.info("Slack: no reaction was shown: %s", describe_slack_error(error))

    async def show_step(self, request: Request, text: str, shown: str | None) -> str | None:
        """Post or change the message of a slow answer's step.

        Outside of the channel, it goes to the asker alone through the response URL, which can
        change nothing that it has shown.
        """
        reply = Reply(words=request.words, text=text, ephemeral=True)
        try:
            if shown:
                await self.change(request, shown, reply)
            elif shown is None:
                if message := await self._announce(request, replace(reply, ephemeral=False)):
                    return message
                if address := _get_body(request).get("response_url"):
                    await self._respond(request, reply, str(address))
                    return ""
        except DeliveryError as error:
            logger.info("Slack: no step was shown: %s", error)
        return shown

    async def deliver(self, request: Request, reply: Reply) -> str | None:
        """Show a reply. Raises DeliveryError, ChatGone."""
        if reply.reaction:
            if message := _message_ts(request):
                name = _NAMES_OF_REACTIONS[reply.reaction]
                await self._react(request.place.chat_id, message, name)
            return None
        return await (self._upload_picture if reply.picture else self._say)(request, reply)

    async def change(self, request: Request, message: str, reply: Reply) -> str:
        """Change what a message says."""
        async with map_slack_errors():
            await self._client.chat_update(
                channel=request.place.chat_id,
                ts=message,
                text=render_fallback(reply),
                blocks=render_blocks(reply),
            )
        return message

    async def delete(self, request: Request, message: str) -> None:
        """Delete a message."""
        async with map_slack_errors():
            await self._client.chat_delete(channel=request.place.chat_id, ts=message)

    async def _say(self, request: Request, reply: Reply) -> str | None:
        if request.one_of_several and reply.hits and not reply.headline:
            reply = replace(reply, headline=cut(request.text, _LONGEST_HEADLINE))
        address = _get_body(request).get("response_url")
        if address and reply.writes is not None:
            message = await self._announce(request, reply)
            if message:
                return message
        if address:
            await self._respond(request, reply, str(address))
            return None
        async with map_slack_errors():
            return await self._post(request, reply)

    async def _post(self, request: Request, reply: Reply) -> str | None:
        place = request.place
        if reply.ephemeral and not place.private:
            await self._client.chat_postEphemeral(
                user=request.person.id,
                channel=place.chat_id,
                thread_ts=place.thread,
                blocks=render_blocks(reply),
                **compose_text(reply),
            )
            return None
        return await post_to_channel(
            self._client,
            place.chat_id,
            reply,
            thread=place.thread,
            metadata=_build_metadata(_METADATA, event_id=request.event_id),
            file_name=reply.picture_name,
        )

    async def _announce(self, request: Request, reply: Reply) -> str | None:
        """Post what will be edited, unlike an answer to a response URL; None where that is not
        possible because the app is not a member."""
        try:
            async with map_slack_errors():
                return await self._post(request, reply)
        except ChatGone:
            return None

    async def _respond(self, request: Request, reply: Reply, address: str) -> None:
        """Answer through the event's response URL, which needs no membership of the channel."""
        webhook = AsyncWebhookClient(
            address, timeout=self._client.timeout, retry_handlers=self._client.retry_handlers
        )
        answer = {
            **_build_content(request, reply),
            "response_type": "ephemeral" if reply.ephemeral else "in_channel",
            "replace_original": reply.replaces,
            "thread_ts": request.place.thread,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        async with map_slack_errors():
            taken = await webhook.send_dict(answer)
        if taken.status_code >= 400:
            raise DeliveryError(
                Message("Slack refuses the answer ({status}).", status=taken.status_code)
            )

    async def _upload_picture(self, request: Request, reply: Reply) -> str | None:
        """Upload a picture; tell only the asker when Slack rejects it.

        A rejection never means that the chat is gone: commands also work where the bot is not a
        member.
        """
        try:
            return await self._post(request, reply)
        except FAILURES as error:
            notice = explain_missing_picture(error, reply.words)
            try:
                await self._say(request, Reply(words=reply.words, text=notice, ephemeral=True))
            except DeliveryError as untold:
                logger.info("nobody was told that a picture failed: %s", untold)
            raise DeliveryError(
                Message(
                    "Slack did not take a picture: {reason}.", reason=describe_slack_error(error)
                )
            ) from error


def _build_content(request: Request, reply: Reply) -> dict[str, object]:
    """Return text and blocks; a reply with only buttons leaves the rest unchanged."""
    message = _get_body(request).get("message") or {}
    if not reply.replaces or reply.text or reply.hits:
        blocks: list[Any] = list(render_blocks(reply))
        text = render_fallback(reply)
    else:
        blocks = [*_without_buttons(message), *render_actions(reply.buttons)]
        text = message.get("text") or render_fallback(reply)
    return {"text": text, "blocks": [_as_json(block) for block in blocks]}


def _without_buttons(message: Payload) -> list[Payload]:
    return [
        block
        for block in message.get("blocks", [])
        if not str(block.get("block_id", "")).startswith(ACTION_PREFIX)
    ]


def _as_json(block: Block | Payload) -> object:
    return block.to_dict() if isinstance(block, Block) else block


def _get_body(request: Request) -> Payload:
    return request.origin if isinstance(request.origin, Mapping) else {}


def _message_ts(request: Request) -> str | None:
    """Return the timestamp of the asking message; commands and buttons have none.

    An edit has the message in it, and a timestamp of its own.
    """
    event = _get_body(request).get("event")
    if not isinstance(event, Mapping) or event.get("subtype") == "message_deleted":
        return None
    return (event.get("message") or event).get("ts")


class SlackPoster:
    """One app in one workspace. When Slack asks to wait, the outbox sends again later.

    Every message carries its key as metadata, and a file as its name, so a message that may have
    arrived can be looked up before it is sent again.
    """

    platform = PLATFORM

    def __init__(self, bot_token: str, *, api_base: str) -> None:
        self._client = create_web_client(bot_token, api_base, retries=False)

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
                if thread and (timestamp := await self._search_chat(chat, key, since, thread)):
                    return timestamp
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
        return await post_to_channel(
            self._client,
            channel,
            reply,
            thread=thread,
            metadata=_build_metadata(_POST_METADATA, key=key),
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
        options: dict[str, Any] = {
            "channel": chat.external_id,
            "oldest": f"{since.timestamp():.6f}",
            "limit": _PAGE_SIZE,
            "cursor": cursor or None,
            "include_all_metadata": True,
        }
        if thread:
            return await self._client.conversations_replies(ts=thread, **options)
        return await self._client.conversations_history(**options)


def _build_metadata(event: str, **payload: str) -> Mapping[str, object]:
    return {"event_type": event, "event_payload": payload}


def _make_file_name(key: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in key) + ".png"


def _has_key(message: Mapping[str, Any], key: str) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    names = {file.get("name") for file in message.get("files") or ()}
    return payload.get("key") == key or _make_file_name(key) in names

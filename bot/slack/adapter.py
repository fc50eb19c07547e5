"""Sending to Slack; implements bot.adapter.Adapter."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.models.blocks import Block
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.adapter import ChatGone, DeliveryError
from bot.reply import Reply
from bot.request import Request
from bot.slack.errors import FAILURES, mapped_slack_errors, slack_reason, why_no_picture
from bot.slack.events import ACTION_PREFIX, PLATFORM, Payload
from bot.slack.render import actions, blocks, fallback, remark, show_with_picture
from engine.messages import Message

logger = logging.getLogger("presagio.slack")

_REACTION = "crystal_ball"
_SIGN_SECONDS = 3.0  # a sign of life that takes longer is useless
_METADATA = "presagio_answer"
_REMARK = "presagio_remark"


class SlackAdapter:
    """Shows replies in channels, threads, direct messages and on buttons."""

    platform = PLATFORM

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._signs: set[asyncio.Task[None]] = set()

    async def show_busy(self, request: Request) -> None:
        """React with a crystal ball to the message being answered, without waiting for it."""
        if message := _message_ts(request):
            sign = asyncio.create_task(self._react(request.place.chat_id, message))
            self._signs.add(sign)
            sign.add_done_callback(self._signs.discard)

    async def _react(self, channel: str, message: str) -> None:
        try:
            async with asyncio.timeout(_SIGN_SECONDS):
                await self._client.reactions_add(channel=channel, name=_REACTION, timestamp=message)
        except FAILURES as error:
            logger.info("Slack: no sign of life: %s", slack_reason(error))

    async def show_step(self, request: Request, text: str, shown: str | None) -> str | None:
        """Post or change the message of a slow answer's step.

        What came with a response URL is answered there, and has no message to change.
        """
        if _body(request).get("response_url") or request.place.home:
            return None
        reply = Reply(words=request.words, text=text)
        try:
            if shown is None:
                async with mapped_slack_errors():
                    return await self._post(request, reply)
            await self.change(request, shown, reply)
        except DeliveryError as error:
            logger.info("Slack: no step was shown: %s", error)
        return shown

    async def deliver(self, request: Request, reply: Reply) -> str | None:
        """Show a reply. Raises DeliveryError, ChatGone."""
        if request.place.home:
            async with mapped_slack_errors():
                await self._client.views_publish(
                    user_id=request.person.id, view=home_view(request, reply)
                )
            return None
        if request.preview:
            async with mapped_slack_errors():
                await self._unfurl(request, reply)
            return None
        if reply.picture:
            await self._draw(request, reply)
            return None
        return await self._say(request, reply)

    async def _unfurl(self, request: Request, reply: Reply) -> None:
        """Show a reply below the message whose link it is about, as one attachment."""
        event = _body(request)["event"]
        link = str(event["links"][0]["url"])
        card = {"blocks": [block.to_dict() for block in blocks(reply)]}
        await self._client.chat_unfurl(
            channel=request.place.chat_id, ts=event["message_ts"], unfurls={link: card}
        )

    async def change(self, request: Request, message: str, reply: Reply) -> None:
        """Change what a message says."""
        async with mapped_slack_errors():
            await self._client.chat_update(
                channel=request.place.chat_id,
                ts=message,
                text=fallback(reply),
                blocks=blocks(reply),
            )

    async def withdraw(self, request: Request, message: str) -> None:
        """Delete a message."""
        async with mapped_slack_errors():
            await self._client.chat_delete(channel=request.place.chat_id, ts=message)

    async def _say(self, request: Request, reply: Reply) -> str | None:
        address = _body(request).get("response_url")
        if address and reply.writes is not None:
            message = await self._announce(request, reply)
            if message:
                return message
        if address:
            await self._respond(request, reply, str(address))
            return None
        async with mapped_slack_errors():
            return await self._post(request, reply)

    async def _post(self, request: Request, reply: Reply) -> str | None:
        place = request.place
        content: dict[str, Any] = {
            "channel": place.chat_id,
            "thread_ts": place.thread,
            "text": fallback(reply),
            "blocks": blocks(reply),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if reply.ephemeral and not place.private:
            await self._client.chat_postEphemeral(user=request.person.id, **content)
            return None
        origin = {"event_type": _METADATA, "event_payload": {"event_id": request.event_id}}
        posted = await self._client.chat_postMessage(metadata=origin, **content)
        return str(posted["ts"])

    async def _announce(self, request: Request, reply: Reply) -> str | None:
        """Post what will be edited, unlike an answer to a response URL; None where that is not
        possible because the app is not a member."""
        try:
            async with mapped_slack_errors():
                return await self._post(request, reply)
        except ChatGone:
            return None

    async def _respond(self, request: Request, reply: Reply, address: str) -> None:
        """Answer through the event's response URL, which needs no membership of the channel."""
        webhook = AsyncWebhookClient(
            address,
            timeout=self._client.timeout,
            retry_handlers=self._client.retry_handlers,
        )
        answer = {
            **_content(request, reply),
            "response_type": "ephemeral" if reply.ephemeral else "in_channel",
            "replace_original": reply.replaces,
            "thread_ts": request.place.thread,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        async with mapped_slack_errors():
            taken = await webhook.send_dict(answer)
        if taken.status_code >= 400:
            raise DeliveryError(
                Message("Slack refuses the answer ({status}).", status=taken.status_code)
            )

    async def _draw(self, request: Request, reply: Reply) -> None:
        """Upload a picture; tell only the asker when Slack rejects it.

        A rejection never means that the chat is gone: commands also work where the bot is not a
        member.
        """
        try:
            await self._upload(request, reply)
        except FAILURES as error:
            notice = why_no_picture(error, reply.words)
            try:
                await self._say(request, Reply(words=reply.words, text=notice, ephemeral=True))
            except DeliveryError as untold:
                logger.info("nobody was told that a picture failed: %s", untold)
            raise DeliveryError(
                Message("Slack did not take a picture: {said}.", said=slack_reason(error))
            ) from error

    async def _upload(self, request: Request, reply: Reply) -> None:
        channel, thread = request.place.chat_id, request.place.thread

        async def send(shown: Sequence[Block]) -> str:
            sent = await self._client.chat_postMessage(
                channel=channel,
                thread_ts=thread,
                text=fallback(reply),
                blocks=shown,
                unfurl_links=False,
                unfurl_media=False,
            )
            return str(sent["ts"])

        await show_with_picture(
            self._client,
            reply,
            send,
            channel=channel,
            thread=thread,
            file_name=reply.picture_name,
        )


def _content(request: Request, reply: Reply) -> dict[str, object]:
    """Return text and blocks; a reply with only buttons leaves the rest unchanged."""
    message = _body(request).get("message") or {}
    if not reply.replaces or reply.text or reply.hits:
        shown: list[Any] = list(blocks(reply))
        text = fallback(reply)
    else:
        shown = [*_without_buttons(message), *actions(reply.buttons)]
        text = message.get("text") or fallback(reply)
    return {"text": text, "blocks": [_as_json(block) for block in shown]}


def home_view(request: Request, reply: Reply) -> dict[str, object]:
    """Return the Home tab that shows a reply. A remark stands above what was shown before."""
    shown: list[Any] = list(blocks(reply))
    if reply.toast and not reply.text:
        before = (_body(request).get("view") or {}).get("blocks") or ()
        kept = [block for block in before if block.get("block_id") != _REMARK]
        shown = [remark(reply.toast, _REMARK), *kept]
    return {
        "type": "home",
        "private_metadata": request.place.chat_id,  # presses at the home name no channel
        "blocks": [_as_json(block) for block in shown],
    }


def _without_buttons(message: Payload) -> list[Payload]:
    return [
        block
        for block in message.get("blocks", [])
        if not str(block.get("block_id", "")).startswith(ACTION_PREFIX)
    ]


def _as_json(block: Block | Payload) -> object:
    return block.to_dict() if isinstance(block, Block) else block


def _body(request: Request) -> Payload:
    return request.origin if isinstance(request.origin, Mapping) else {}


def _message_ts(request: Request) -> str | None:
    """Return the timestamp of the asking message; commands and buttons have none."""
    event = _body(request).get("event")
    return event.get("ts") if isinstance(event, Mapping) else None

"""Sending to Slack; implements bot.face.Face."""

import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.models.blocks import Block
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.face import ChatGone, DeliveryError
from bot.reply import Reply
from bot.request import Request, Trigger
from bot.slack.events import PLATFORM, Payload
from bot.slack.render import ACTION_PREFIX, actions, blocks, escaped, fallback

logger = logging.getLogger("presagio.slack")

_Result = TypeVar("_Result")
_GONE = {
    "channel_not_found",
    "is_archived",
    "not_in_channel",
    "account_inactive",
    "user_not_found",
    "restricted_action",
}
_REACTION = "crystal_ball"
METADATA = "presagio_answer"


class SlackFace:
    """Shows replies in channels, threads, direct messages and on buttons."""

    platform = PLATFORM

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def show_busy(self, request: Request) -> None:
        """Put a crystal ball on the message that is being answered."""
        if message := _message_ts(request):
            try:
                await self._client.reactions_add(
                    channel=request.place.chat_id, name=_REACTION, timestamp=message
                )
            except (SlackClientError, aiohttp.ClientError, TimeoutError) as error:
                logger.debug("no sign of life: %s", error)

    async def deliver(self, request: Request, reply: Reply) -> None:
        """Show a reply. Raises DeliveryError, ChatGone."""
        if reply.picture:
            await _mapped(self._upload(request, reply))
        elif request.trigger is Trigger.BUTTON:
            await self._pressed(request, reply)
        elif request.trigger is Trigger.COMMAND:
            await self._respond(request, reply, blocks(reply))
        else:
            await self._post(request, reply)

    async def _pressed(self, request: Request, reply: Reply) -> None:
        if reply.replaces:
            shown = blocks(reply) if reply.text or reply.hits else _with_buttons(request, reply)
            await self._respond(request, reply, shown)
        elif reply.text or reply.hits:
            if reply.ephemeral:
                await self._respond(request, reply, blocks(reply))
            else:
                await self._post(request, reply)
        elif reply.toast:
            await self._respond(request, reply, [])

    async def _post(self, request: Request, reply: Reply) -> None:
        place, shown = request.place, blocks(reply)
        if reply.ephemeral and not place.private:
            await _mapped(
                self._client.chat_postEphemeral(
                    channel=place.chat_id,
                    user=request.person.id,
                    thread_ts=place.thread,
                    text=fallback(reply),
                    blocks=shown,
                )
            )
            return
        await _mapped(
            self._client.chat_postMessage(
                channel=place.chat_id,
                thread_ts=place.thread,
                text=fallback(reply),
                blocks=shown,
                unfurl_links=False,
                unfurl_media=False,
                metadata={
                    "event_type": METADATA,
                    "event_payload": {"event_id": request.event_id},
                },
            )
        )

    async def _respond(self, request: Request, reply: Reply, shown: Sequence[Block]) -> None:
        """Answer over the event's own address, which needs no membership of the channel."""
        body = _body(request)
        if not body.get("response_url"):
            await self._post(request, reply)
            return
        webhook = AsyncWebhookClient(body["response_url"], timeout=self._client.timeout)
        answer = await _mapped(
            webhook.send(
                text=fallback(reply) if shown else escaped(reply.toast or ""),
                blocks=list(shown) or None,
                response_type="ephemeral" if reply.ephemeral else "in_channel",
                replace_original=reply.replaces,
                unfurl_links=False,
                unfurl_media=False,
            )
        )
        if answer.status_code >= 400:
            raise DeliveryError(f"Slack refuses the answer: {answer.body[:100]}.")

    async def _upload(self, request: Request, reply: Reply) -> None:
        await self._client.files_upload_v2(
            channel=request.place.chat_id,
            thread_ts=request.place.thread,
            content=reply.picture,
            filename="prophecy.png",
            title="prophecy.png",
            initial_comment=escaped(reply.text) if reply.text else None,
        )


def _body(request: Request) -> Payload:
    return request.origin if isinstance(request.origin, Mapping) else {}


def _message_ts(request: Request) -> str | None:
    """Return the timestamp of the message that asks; commands and buttons have none."""
    event = _body(request).get("event")
    return event.get("ts") if isinstance(event, Mapping) else None


def _with_buttons(request: Request, reply: Reply) -> list[Any]:
    """Return the pressed message's blocks with other buttons below."""
    message = _body(request).get("message") or {}
    kept = [
        block
        for block in message.get("blocks", [])
        if not str(block.get("block_id", "")).startswith(ACTION_PREFIX)
    ]
    return [*kept, *actions(reply.buttons)]


async def _mapped(call: Awaitable[_Result]) -> _Result:
    """Await a call of the library and map its errors."""
    try:
        return await call
    except SlackApiError as error:
        code = str(error.response.get("error", "unknown"))
        if code in _GONE:
            raise ChatGone(f"Slack refuses: {code}.") from error
        raise DeliveryError(f"Slack refuses the message: {code}.") from error
    except (TimeoutError, SlackClientError, aiohttp.ClientError, OSError) as error:
        raise DeliveryError(
            f"Slack did not say whether the message arrived ({type(error).__name__})."
        ) from error

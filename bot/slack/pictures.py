"""Pictures in Slack: one message with its text, its image and its buttons."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import Block
from slack_sdk.web.async_client import AsyncWebClient

from bot.face.reply import Reply
from bot.slack.errors import code_of
from bot.slack.render import blocks, escaped_mrkdwn, fallback

# Slack reads a file after it has taken it, and refuses blocks that name it until then.
_PAUSES = (0.3, 0.7, 1.5, 3.0)  # seconds

Send = Callable[[Sequence[Block]], Awaitable[str]]


async def show_with_picture(
    client: AsyncWebClient,
    reply: Reply,
    send: Send,
    *,
    channel: str,
    thread: str | None,
    file_name: str,
) -> str:
    """Upload the picture and send the blocks that show it; return what `send` does.

    Where Slack keeps refusing the blocks, the picture is sent as a file named `file_name`, without
    buttons, and its id is returned. Raises SlackApiError and what else the client raises.
    """
    taken = await client.files_upload_v2(
        content=reply.picture, filename=reply.picture_name, title=reply.picture_name
    )
    shown = blocks(reply, picture=str(taken["files"][0]["id"]))
    for pause in _PAUSES:
        try:
            return await send(shown)
        except SlackApiError as error:
            if code_of(error) != "invalid_blocks":
                raise
        await asyncio.sleep(pause)
    sent = await client.files_upload_v2(
        channel=channel,
        thread_ts=thread,
        content=reply.picture,
        filename=file_name,
        title=reply.picture_name,
        initial_comment=escaped_mrkdwn(fallback(reply)),
    )
    return str(sent["files"][0]["id"])

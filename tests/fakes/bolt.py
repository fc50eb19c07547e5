"""Bolt as it comes out of the box, pointed at the stand-in: no cure of this project in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import SlackServer


def web_client(slack: SlackServer, token: str | None = None) -> AsyncWebClient:
    """The official client with the bot's token, or another one."""
    return AsyncWebClient(token or slack.bot_token, base_url=slack.base_url)


def bolt_app(slack: SlackServer) -> AsyncApp:
    """An app that checks its token at the first event, as Bolt does by default."""
    return AsyncApp(name="bolt", client=web_client(slack), signing_secret=slack.signing_secret)


@asynccontextmanager
async def socket_mode(
    app: AsyncApp, slack: SlackServer, *, app_token: str | None = None, ping_seconds: float = 10
) -> AsyncIterator[AsyncSocketModeHandler]:
    """A handler that is not connected yet and is closed in the end.

    The client looks after its connection, and tries again, every `ping_seconds`; it takes a line
    for dead that has not answered a ping for half as long.
    """
    token = app_token or slack.app_token
    handler = AsyncSocketModeHandler(app, token, ping_interval=ping_seconds)
    try:
        yield handler
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]  # Bolt does not annotate it


async def connect(handler: AsyncSocketModeHandler) -> None:
    """Return when connected, which may be never: Bolt tries for ever."""
    await handler.connect_async()  # type: ignore[no-untyped-call]  # Bolt does not annotate it


@asynccontextmanager
async def connected(
    app: AsyncApp, slack: SlackServer, *, ping_seconds: float = 10
) -> AsyncIterator[AsyncSocketModeHandler]:
    """A handler with an open connection."""
    already = len(slack.connections)
    async with socket_mode(app, slack, ping_seconds=ping_seconds) as handler:
        await connect(handler)
        await slack.until_connected(already + 1)
        yield handler

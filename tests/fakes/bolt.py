"""The official Slack client, pointed at the stand-in."""

from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import SlackServer


def web_client(slack: SlackServer, token: str | None = None) -> AsyncWebClient:
    """The official client with the bot's token, or another one."""
    return AsyncWebClient(token or slack.bot_token, base_url=slack.base_url)

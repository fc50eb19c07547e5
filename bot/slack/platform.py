"""Slack as a platform: its tokens, and what listens, posts and checks with them."""

from collections.abc import Callable
from datetime import datetime

from bot.adapter import Poster
from bot.app import App
from bot.conversation.conversation import Conversation
from bot.platforms import Platform, Service, Token
from bot.settings import Settings
from bot.settings.model import reveal_secret
from db.chat.chats import Chats


def _create_service(app: App, conversation: Conversation, now: Callable[[], datetime]) -> Service:
    from bot.slack.service import SlackService  # noqa: PLC0415 - only with a token

    secrets = app.settings.secrets
    return SlackService(
        app.settings.slack,
        bot_token=reveal_secret(secrets.slack_bot_token) or "",
        app_token=reveal_secret(secrets.slack_app_token) or "",
        signing_secret=reveal_secret(secrets.slack_signing_secret) or "",
        conversation=conversation,
        now=now,
    )


def _create_poster(settings: Settings, _: Chats) -> Poster:
    from bot.slack.adapter import SlackPoster  # noqa: PLC0415 - only with a token

    token = reveal_secret(settings.secrets.slack_bot_token) or ""
    return SlackPoster(token, api_base=settings.slack.api_base)


async def _check(settings: Settings) -> str:
    from bot.slack.client import check_slack  # noqa: PLC0415 - only with a token

    secrets = settings.secrets
    return await check_slack(
        reveal_secret(secrets.slack_bot_token) or "",
        reveal_secret(secrets.slack_app_token) or "",
        reveal_secret(secrets.slack_signing_secret) or "",
        settings.slack.api_base,
    )


SLACK = Platform(
    tokens=(
        Token(
            variable="SLACK_BOT_TOKEN",
            option="--slack-bot-token",
            help="xoxb-...",
            question="Slack bot token, xoxb-... (empty: none)",
        ),
        Token(
            variable="SLACK_APP_TOKEN",
            option="--slack-app-token",
            help="xapp-...",
            question="Slack app token, xapp-...",
        ),
    ),
    tokens_from="Copy the bot token from OAuth & Permissions of the app at api.slack.com/apps, and"
    " the app token from its Basic Information.",
    create_service=_create_service,
    create_poster=_create_poster,
    check=_check,
)

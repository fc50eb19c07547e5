"""Telegram as a platform: its token, and what listens, posts and checks with it."""

from collections.abc import Callable
from datetime import datetime

from bot.adapter import Poster
from bot.app import App
from bot.conversation.conversation import Conversation
from bot.platforms import Platform, Service, Token
from bot.settings import Settings
from bot.settings.model import reveal_secret
from db.chat.chats import Chats
from db.chat.events import Inbox


def _create_service(app: App, conversation: Conversation, now: Callable[[], datetime]) -> Service:
    from bot.telegram.service import TelegramService  # noqa: PLC0415 - only with a token

    settings = app.settings
    return TelegramService(
        settings.telegram,
        token=_reveal_token(settings),
        webhook_secret=reveal_secret(settings.secrets.telegram_webhook_secret) or "",
        conversation=conversation,
        chats=app.chats,
        inbox=Inbox(app.database, "telegram"),
        commands=conversation.registry.commands,
        now=now,
    )


def _create_poster(settings: Settings, chats: Chats) -> Poster:
    from bot.telegram.adapter import TelegramPoster  # noqa: PLC0415 - only with a token

    return TelegramPoster(_reveal_token(settings), api_base=settings.telegram.api_base, chats=chats)


async def _check(settings: Settings) -> str:
    from bot.telegram.client import check_telegram  # noqa: PLC0415 - only with a token

    telegram = settings.telegram
    return await check_telegram(_reveal_token(settings), telegram.api_base, telegram.webhook_url)


def _reveal_token(settings: Settings) -> str:
    return reveal_secret(settings.secrets.telegram_bot_token) or ""


TELEGRAM = Platform(
    tokens=(
        Token(
            variable="TELEGRAM_BOT_TOKEN",
            option="--telegram-token",
            help="Token that @BotFather gave.",
            question="Telegram token of @BotFather (empty: none)",
        ),
    ),
    tokens_from="Copy it whole from the message of @BotFather.",
    create_service=_create_service,
    create_poster=_create_poster,
    check=_check,
)

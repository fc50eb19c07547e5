"""The configured chat platforms: the services that listen and the posters that post."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from pydantic import SecretStr

from bot.adapter import AdapterStatus, Poster
from bot.app import App
from bot.commands.rights import CODE_SHOWN
from bot.conversation.conversation import Conversation
from bot.settings import Settings
from bot.settings.model import Secrets, reveal_secret
from db.chat.chats import Chats
from db.chat.events import Inbox

if TYPE_CHECKING:
    from bot.listening import Webhook


class Service(Protocol):
    """An adapter that listens."""

    @property
    def webhook(self) -> "Webhook | None":
        """The webhook on which the platform delivers events, or None if it does not use one."""

    async def run(self) -> None:
        """Listen until cancelled. Raises AdapterFailed when it cannot start."""

    async def stop(self, seconds: float) -> None:
        """Abandon what is still under way after `seconds`, and close."""

    def status(self) -> AdapterStatus:
        """Return whether it is receiving events now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """How a chat platform is listened to, posted on and checked, and who becomes its owner how.

    Its libraries are imported only by these functions, which are called only if its token is set.
    """

    token: Callable[[Secrets], SecretStr | None]
    create_service: Callable[[App, Conversation, Callable[[], datetime]], Service]
    create_poster: Callable[[Settings, Chats], Poster]
    check: Callable[[Settings], Awaitable[str]]  # returns a line about it; raises AdapterFailed
    start: str  # the command that the owner's code follows


def list_platforms(settings: Settings) -> list[str]:
    """Return the platforms whose tokens are set."""
    return [name for name, platform in PLATFORMS.items() if platform.token(settings.secrets)]


def create_services(
    app: App, conversation: Conversation, now: Callable[[], datetime]
) -> dict[str, Service]:
    """Return the services of the platforms whose tokens are set, by platform."""
    return {
        name: PLATFORMS[name].create_service(app, conversation, now)
        for name in list_platforms(app.settings)
    }


def create_posters(settings: Settings, chats: Chats) -> list[Poster]:
    """Return the posters for scheduled posts, of the platforms whose tokens are set."""
    return [PLATFORMS[name].create_poster(settings, chats) for name in list_platforms(settings)]


def how_to_own(platform: str, code: str, *, bot: str = "it") -> str:
    """Return what the owner has to write to the `bot`."""
    hours = CODE_SHOWN // timedelta(hours=1)
    return f"Write to {bot} in private within {hours} hours: {PLATFORMS[platform].start} {code}"


def _reveal(secret: SecretStr | None) -> str:
    return reveal_secret(secret) or ""


def _create_telegram_service(
    app: App, conversation: Conversation, now: Callable[[], datetime]
) -> Service:
    from bot.telegram.service import TelegramService  # noqa: PLC0415 - only with a token

    settings = app.settings
    return TelegramService(
        settings.telegram,
        token=_reveal(settings.secrets.telegram_bot_token),
        webhook_secret=_reveal(settings.secrets.telegram_webhook_secret),
        conversation=conversation,
        chats=app.chats,
        inbox=Inbox(app.database, "telegram"),
        commands=conversation.registry.commands,
        now=now,
    )


def _create_telegram_poster(settings: Settings, chats: Chats) -> Poster:
    from bot.telegram.adapter import TelegramPoster  # noqa: PLC0415 - only with a token

    token = _reveal(settings.secrets.telegram_bot_token)
    return TelegramPoster(token, api_base=settings.telegram.api_base, chats=chats)


async def _check_telegram(settings: Settings) -> str:
    from bot.telegram.client import check_telegram  # noqa: PLC0415 - only with a token

    telegram = settings.telegram
    token = _reveal(settings.secrets.telegram_bot_token)
    return await check_telegram(token, telegram.api_base, telegram.webhook_url)


def _create_slack_service(
    app: App, conversation: Conversation, now: Callable[[], datetime]
) -> Service:
    from bot.slack.service import SlackService  # noqa: PLC0415 - only with a token

    secrets = app.settings.secrets
    return SlackService(
        app.settings.slack,
        bot_token=_reveal(secrets.slack_bot_token),
        app_token=_reveal(secrets.slack_app_token),
        signing_secret=_reveal(secrets.slack_signing_secret),
        conversation=conversation,
        now=now,
    )


def _create_slack_poster(settings: Settings, _: Chats) -> Poster:
    from bot.slack.adapter import SlackPoster  # noqa: PLC0415 - only with a token

    return SlackPoster(_reveal(settings.secrets.slack_bot_token), api_base=settings.slack.api_base)


async def _check_slack(settings: Settings) -> str:
    from bot.slack.client import check_slack  # noqa: PLC0415 - only with a token

    secrets = settings.secrets
    return await check_slack(
        _reveal(secrets.slack_bot_token),
        _reveal(secrets.slack_app_token),
        _reveal(secrets.slack_signing_secret),
        settings.slack.api_base,
    )


PLATFORMS: Mapping[str, Platform] = {
    "telegram": Platform(
        token=lambda secrets: secrets.telegram_bot_token,
        create_service=_create_telegram_service,
        create_poster=_create_telegram_poster,
        check=_check_telegram,
        start="/start",
    ),
    "slack": Platform(
        token=lambda secrets: secrets.slack_bot_token,
        create_service=_create_slack_service,
        create_poster=_create_slack_poster,
        check=_check_slack,
        start="/presagio start",
    ),
}

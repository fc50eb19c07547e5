"""The configured chat platforms: the services that listen and the posters that post."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from bot.adapter import AdapterStatus, Poster
from bot.commands import Registry
from bot.commands.ownership import CODE_SHOWN, Ownership
from bot.conversation.conversation import Conversation
from bot.settings import Settings
from bot.settings.model import reveal_secret
from db.chat.chats import Chats
from db.chat.events import Inbox
from db.pool import Database
from engine.values import Corpus, CorpusRole

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
class AdapterDependencies:
    """The objects that all adapters share."""

    conversation: Conversation
    commands: Registry
    chats: Chats
    database: Database
    now: Callable[[], datetime]


def services_of(settings: Settings, shared: AdapterDependencies) -> dict[str, Service]:
    """Return the adapters whose tokens are set, by platform."""
    services: dict[str, Service] = {}
    if token := settings.secrets.telegram_bot_token:
        services["telegram"] = _telegram(settings, token.get_secret_value(), shared)
    if token := settings.secrets.slack_bot_token:
        services["slack"] = _slack(settings, token.get_secret_value(), shared)
    return services


def platforms_of(settings: Settings) -> list[str]:
    """Return the platforms whose tokens are set."""
    secrets = settings.secrets
    tokens = {"telegram": secrets.telegram_bot_token, "slack": secrets.slack_bot_token}
    return [platform for platform, token in tokens.items() if token]


def posters_of(settings: Settings, chats: Chats, *, now: Callable[[], datetime]) -> list[Poster]:
    """Return the posters for scheduled posts: of platforms whose tokens are set, and of webhooks.

    Raises SettingsError for a webhook without a secret.
    """
    posters: list[Poster] = []
    if token := settings.secrets.telegram_bot_token:
        from bot.telegram.adapter import TelegramPoster  # noqa: PLC0415 - only with a token

        api_base = settings.telegram.api_base
        posters.append(TelegramPoster(token.get_secret_value(), api_base=api_base, chats=chats))
    if token := settings.secrets.slack_bot_token:
        from bot.slack.adapter import SlackPoster  # noqa: PLC0415 - only with a token

        posters.append(SlackPoster(token.get_secret_value(), api_base=settings.slack.api_base))
    if settings.webhooks:
        from bot.webhooks import (  # noqa: PLC0415 - only with a webhook
            WebhookPoster,
            targets_of,
        )

        contact = settings.fetch.user_agent_contact
        posters.append(WebhookPoster(targets_of(settings), contact=contact, now=now))
    return posters


async def tell_what_is_missing(
    corpora: Sequence[Corpus],
    platforms: Collection[str],
    ownership: Ownership,
    said: Callable[[str], None],
    *,
    open: bool,  # noqa: A002 - the word of the settings
    now: datetime,
) -> None:
    """Say that there is no archive or no chat, and how somebody becomes the owner on each platform.

    An `open` bot answers everybody and needs no owner. Raises StorageError.
    """
    if all(one.role is CorpusRole.NEWS for one in corpora):
        said("There is no archive to search yet. Load one with: presagio ingest FILE")
    if not platforms:
        said(
            "No chat is set up. Set TELEGRAM_BOT_TOKEN, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or"
            " run: presagio setup"
        )
    if open:
        return
    for platform in platforms:
        if code := await ownership.code(platform, now=now):
            said(f"{platform}: nobody owns this bot yet. {how_to_own(platform, code)}")


def how_to_own(platform: str, code: str) -> str:
    """Return what the owner has to write."""
    start = "/presagio start" if platform == "slack" else "/start"
    hours = CODE_SHOWN // timedelta(hours=1)
    return f"Write to it in private within {hours} hours: {start} {code}"


def _telegram(settings: Settings, token: str, shared: AdapterDependencies) -> Service:
    from bot.telegram.service import TelegramService  # noqa: PLC0415 - only with a token

    return TelegramService(
        settings.telegram,
        token=token,
        webhook_secret=reveal_secret(settings.secrets.telegram_webhook_secret) or "",
        conversation=shared.conversation,
        chats=shared.chats,
        inbox=Inbox(shared.database, "telegram"),
        commands=shared.commands.commands,
        now=shared.now,
    )


def _slack(settings: Settings, token: str, shared: AdapterDependencies) -> Service:
    from bot.slack.service import SlackService  # noqa: PLC0415 - only with a token

    secrets = settings.secrets
    return SlackService(
        settings.slack,
        bot_token=token,
        app_token=reveal_secret(secrets.slack_app_token) or "",
        signing_secret=reveal_secret(secrets.slack_signing_secret) or "",
        conversation=shared.conversation,
        now=shared.now,
    )

"""The chat platforms: the services that listen and the posters that post, where they are set up.

A platform is found because a package has a module `platform` that defines it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bot.adapter import AdapterStatus, Poster, traits_of
from bot.app import App
from bot.commands.rights import CODE_SHOWN
from bot.conversation.conversation import Conversation
from bot.settings import Settings
from db.chat.chats import Chats

if TYPE_CHECKING:
    from bot.listening import Webhook

_ORDER = ("telegram", "slack")


class Service(Protocol):
    """An adapter that listens."""

    @property
    def webhook(self) -> "Webhook | None":
        """The webhook on which the platform delivers events, or None if it does not use one."""

    async def run(self) -> None:
        """Listen until cancelled, and wait for outages to end. Raises AdapterFailed when the
        platform refuses it at the start, TokenRefused when it is for the tokens."""

    async def stop(self, seconds: float) -> None:
        """Abandon what is still under way after `seconds`, and close."""

    def status(self) -> AdapterStatus:
        """Return whether it is receiving events now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token of a platform, and how `presagio setup` asks for it."""

    variable: str  # of the environment; the same in small letters is its field of Secrets
    option: str
    help: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """How a chat platform is listened to, posted on and checked.

    Its libraries are imported only by these functions, which are called only if the first of its
    tokens is set.
    """

    tokens: tuple[Token, ...]
    tokens_from: str  # where to copy them, for somebody whose tokens are refused
    create_service: Callable[[App, Conversation, Callable[[], datetime]], Service]
    create_poster: Callable[[Settings, Chats], Poster]
    # Returns a line about it, the name of the bot before its first comma. Raises AdapterFailed.
    check: Callable[[Settings], Awaitable[str]]


@cache
def find_platforms() -> Mapping[str, Platform]:
    """Return all platforms by the names of their packages; a new one is among the last."""
    names = [module.parent.name for module in Path(__file__).parent.glob("*/platform.py")]
    return {
        name: value
        for name in sorted(names, key=lambda name: (_rank_platform(name), name))
        for value in vars(import_module(f"bot.{name}.platform")).values()
        if isinstance(value, Platform)
    }


def _rank_platform(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def list_platforms(settings: Settings) -> list[str]:
    """Return the platforms whose tokens are set."""
    return list(_find_configured(settings))


def _find_configured(settings: Settings) -> dict[str, Platform]:
    return {
        name: platform
        for name, platform in find_platforms().items()
        if getattr(settings.secrets, platform.tokens[0].variable.lower())
    }


def create_services(
    app: App, conversation: Conversation, now: Callable[[], datetime]
) -> dict[str, Service]:
    """Return the services of the platforms whose tokens are set, by platform."""
    return {
        name: platform.create_service(app, conversation, now)
        for name, platform in _find_configured(app.settings).items()
    }


def create_posters(settings: Settings, chats: Chats) -> list[Poster]:
    """Return the posters for scheduled posts, of the platforms whose tokens are set."""
    configured = _find_configured(settings).values()
    return [platform.create_poster(settings, chats) for platform in configured]


def how_to_own(platform: str, code: str, *, bot: str = "it") -> str:
    """Return what the owner has to write to the `bot`."""
    hours, only_command = CODE_SHOWN // timedelta(hours=1), traits_of(platform).only_command
    start = f"{only_command} start" if only_command else "/start"
    return f"Write to {bot} in private within {hours} hours: {start} {code}"

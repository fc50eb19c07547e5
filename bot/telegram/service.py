"""Runs the Telegram face: starts, listens, stops."""

import asyncio
import hmac
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from aiohttp import web
from telegram import BotCommand, ChatMember, Update
from telegram.error import InvalidToken, TelegramError
from telegram.ext import AIORateLimiter, BaseRateLimiter, ExtBot
from telegram.request import HTTPXRequest

from bot.commands import Command
from bot.conversation import Conversation
from bot.face import DeliveryError, FaceFailed
from bot.telegram.events import PLATFORM, Myself, read_update
from bot.telegram.face import TelegramFace
from bot.telegram.poll import ALLOWED_UPDATES, Poller
from bot.words import DEFAULT, LANGUAGES, words_for
from db.chats import Chats

logger = logging.getLogger("presagio.telegram")

_CONNECTIONS = 64
_RETRIES = 3
_START_SECONDS = 20.0
_ADMINS = {ChatMember.ADMINISTRATOR, ChatMember.OWNER}
_GONE = {ChatMember.LEFT, ChatMember.BANNED}


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramSettings:
    """How Telegram is reached. With `webhook_url` updates are pushed, else they are polled."""

    token: str = field(repr=False)
    api_base: str = "https://api.telegram.org"
    webhook_url: str = ""
    webhook_secret: str = field(default="", repr=False)
    webhook_host: str = "127.0.0.1"
    webhook_port: int = 8443


class TelegramService:
    """One bot account."""

    def __init__(
        self,
        settings: TelegramSettings,
        *,
        conversation: Conversation,
        chats: Chats,
        commands: Sequence[Command],
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._chats = chats
        self._commands = commands
        self._now = now
        self._bot = _bot(settings)
        self._face = TelegramFace(self._bot, chats)
        self._poller = Poller(self._bot, self._handle)
        self._runner: web.AppRunner | None = None
        self._bot_started = False

    async def run(self) -> None:
        """Answer until cancelled. Raises FaceFailed when the platform refuses at the start."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._start()
        except InvalidToken as error:
            raise FaceFailed("Telegram refuses the token.", fix=_TOKEN_FIX) from error
        except (TelegramError, TimeoutError) as error:
            raise FaceFailed(
                f"Telegram cannot be reached: {error or 'no answer in time'}.",
                fix="Check telegram.api_base and the network.",
            ) from error
        logger.info("Telegram: listening as @%s", self._bot.username)
        if self._settings.webhook_url:
            await asyncio.Event().wait()
        else:
            await self._poller.run()

    async def stop(self, seconds: float) -> None:
        """Finish what is under way, within `seconds`, and close the connections."""
        if self._runner:
            await self._runner.cleanup()
        elif self._bot_started:
            await self._poller.settle(seconds)
        if self._bot_started:
            await self._bot.shutdown()

    async def _start(self) -> None:
        await self._bot.initialize()
        self._bot_started = True
        await self._announce()
        if self._settings.webhook_url:
            await self._listen()
            await self._bot.set_webhook(
                self._settings.webhook_url,
                secret_token=self._settings.webhook_secret,
                allowed_updates=ALLOWED_UPDATES,
                drop_pending_updates=False,
            )
        else:
            await self._bot.delete_webhook(drop_pending_updates=False)

    async def _announce(self) -> None:
        """Set the command menu in each language."""
        for code in LANGUAGES:
            words = words_for(code)
            menu = [BotCommand(c.name, words.say(c.summary)[:256]) for c in self._commands]
            await self._bot.set_my_commands(menu, language_code=None if code == DEFAULT else code)

    async def _listen(self) -> None:
        application = web.Application(client_max_size=1 << 20)
        application.router.add_post("/{path:.*}", self._pushed)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._settings.webhook_host, self._settings.webhook_port)
        await site.start()

    async def _pushed(self, request: web.Request) -> web.Response:
        """Deal with a pushed update before saying so: an unfinished one comes again."""
        given = request.headers.get("X-Telegram-Bot-Api-Secret-Token", "")
        if not hmac.compare_digest(given.encode(), self._settings.webhook_secret.encode()):
            return web.Response(status=403)
        try:
            update = Update.de_json(await request.json(), self._bot)
        except (KeyError, TypeError, ValueError, AttributeError):
            logger.exception("an update cannot be read and is passed over")
            return web.Response()
        await self._handle(update)
        return web.Response()

    async def _handle(self, update: Update) -> None:
        if update.my_chat_member:
            await self._membership(update)
        elif moved := _moved(update):
            await self._chats.move(PLATFORM, *moved)
        elif request := read_update(update, self._myself, now=self._now()):
            await self._conversation.answer(request, self._face)

    async def _membership(self, update: Update) -> None:
        """Pause a chat that blocked or removed the bot."""
        change = update.my_chat_member
        if change and change.new_chat_member.status in _GONE:
            await self._chats.deactivate(PLATFORM, str(change.chat.id))

    @property
    def _myself(self) -> Myself:
        return Myself(id=self._bot.id, username=self._bot.username, is_admin=self._is_admin)

    async def _is_admin(self, chat_id: int, user_id: int) -> bool:
        try:
            member = await self._bot.get_chat_member(chat_id, user_id)
        except TelegramError as error:
            raise DeliveryError("Telegram does not say who is an admin. Try again.") from error
        return member.status in _ADMINS


_TOKEN_FIX = "Set TELEGRAM_BOT_TOKEN to the token that @BotFather gave."  # noqa: S105 - no secret


def _bot(settings: TelegramSettings) -> ExtBot[None]:
    base = settings.api_base.rstrip("/")
    # Typed for any arguments of a call; nothing here passes it any.
    limiter: BaseRateLimiter[None] = cast(
        BaseRateLimiter[None], AIORateLimiter(max_retries=_RETRIES)
    )
    return ExtBot(
        settings.token,
        base_url=f"{base}/bot",
        base_file_url=f"{base}/file/bot",
        request=HTTPXRequest(connection_pool_size=_CONNECTIONS),
        get_updates_request=HTTPXRequest(connection_pool_size=4),
        rate_limiter=limiter,
    )


def _moved(update: Update) -> tuple[str, str] | None:
    """Return (old id, new id) of a group that became a larger one."""
    message = update.message
    if message and message.migrate_to_chat_id:
        return str(message.chat_id), str(message.migrate_to_chat_id)
    if message and message.migrate_from_chat_id:
        return str(message.migrate_from_chat_id), str(message.chat_id)
    return None

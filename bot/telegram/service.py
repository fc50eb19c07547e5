"""Runs the Telegram face: starts, listens, stops."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from telegram import BotCommand, ChatMember, Update
from telegram.error import BadRequest, InvalidToken, TelegramError

from bot.commands import Command
from bot.conversation import Conversation
from bot.face import DeliveryError, FaceFailed
from bot.telegram.client import Bot
from bot.telegram.events import PLATFORM, Myself, read_update
from bot.telegram.face import TelegramFace
from bot.telegram.latest import Latest
from bot.telegram.poll import ALLOWED_UPDATES, HOLD_SECONDS, Poller, pause_after
from bot.telegram.webhook import Webhook
from bot.words import DEFAULT, LANGUAGES, words_for
from db.chats import Chats
from db.inbox import Inbox

logger = logging.getLogger("presagio.telegram")

_LONGEST_DESCRIPTION = 256
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
        inbox: Inbox,
        commands: Sequence[Command],
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._conversation = conversation
        self._chats = chats
        self._inbox = inbox
        self._commands = commands
        self._now = now
        self._bot = Bot(settings.token, api_base=settings.api_base, hold=HOLD_SECONDS)
        self._face = TelegramFace(self._bot, chats)
        self._typed = Latest()
        self._poller: Poller | None = None
        self._webhook: Webhook | None = None

    async def run(self) -> None:
        """Answer until cancelled. Raises FaceFailed when Telegram refuses the token."""
        try:
            if self._settings.webhook_url:
                await self._be_pushed()
            else:
                await self._poll()
        except InvalidToken:
            # Not "from error": its message holds the token.
            raise FaceFailed(
                "Telegram refuses the token.",
                fix="Set TELEGRAM_BOT_TOKEN to the token that @BotFather gave.",
            ) from None

    async def stop(self, seconds: float) -> None:
        """Let go of what is under way after `seconds`, and close the connections."""
        if self._webhook:
            await self._webhook.close()
        if self._poller:
            await self._poller.settle(seconds)
        await self._bot.shutdown()

    async def _poll(self) -> None:
        await self._started()
        await self._bot.delete_webhook(drop_pending_updates=False)
        self._poller = Poller(self._bot, self._handle, self._inbox)
        await self._poller.run()

    async def _be_pushed(self) -> None:
        settings = self._settings
        self._webhook = Webhook(self._bot, self._handle, secret=settings.webhook_secret)
        await self._started()
        await self._webhook.listen(settings.webhook_host, settings.webhook_port)
        try:
            await self._bot.set_webhook(
                settings.webhook_url,
                secret_token=settings.webhook_secret,
                allowed_updates=ALLOWED_UPDATES,
                drop_pending_updates=False,
            )
            await asyncio.Event().wait()
        except BadRequest as error:
            raise FaceFailed(
                f"Telegram refuses the webhook: {error.message}.", fix="Check telegram.webhook_url."
            ) from error
        finally:
            self._webhook.refuse()

    async def _started(self) -> None:
        """Log in and set the menus; an outage is waited for. Raises InvalidToken."""
        failures = 0
        while True:
            try:
                await self._bot.initialize()
                await self._set_menus()
            except InvalidToken:
                raise
            except TelegramError as error:
                failures += 1
                pause = pause_after(error, failures)
                logger.warning("Telegram: %s; trying again in %.0f s", error, pause)
                await asyncio.sleep(pause)
            else:
                logger.info("Telegram: listening as @%s", self._bot.username)
                return

    async def _set_menus(self) -> None:
        """Set the command menu in each language."""
        for code in LANGUAGES:
            words = words_for(code)
            menu = [
                BotCommand(command.name, words.say(command.summary)[:_LONGEST_DESCRIPTION])
                for command in self._commands
            ]
            await self._bot.set_my_commands(menu, language_code=None if code == DEFAULT else code)

    async def _handle(self, update: Update) -> None:
        if update.my_chat_member:
            await self._membership(update)
        elif moved := _moved(update):
            await self._chats.move(PLATFORM, *moved)
        elif update.inline_query and not await self._typed.stays(update.inline_query.from_user.id):
            return
        elif request := read_update(update, self._myself, now=self._now()):
            await self._conversation.answer(request, self._face)

    async def _membership(self, update: Update) -> None:
        """Pause a chat that blocked or removed the bot."""
        change = update.my_chat_member
        if change and change.new_chat_member.status in _GONE:
            await self._chats.deactivate(PLATFORM, str(change.chat.id))

    @property
    def _myself(self) -> Myself:
        return Myself(
            id=self._bot.id,
            username=self._bot.username,
            commands=frozenset(name for command in self._commands for name in command.names),
            is_admin=self._is_admin,
        )

    async def _is_admin(self, chat_id: int, user_id: int) -> bool:
        try:
            member = await self._bot.get_chat_member(chat_id, user_id)
        except TelegramError as error:
            raise DeliveryError("Telegram does not say who is an admin. Try again.") from error
        return member.status in _ADMINS


def _moved(update: Update) -> tuple[str, str] | None:
    """Return (old id, new id) of a group that became a larger one."""
    message = update.message
    if message and message.migrate_to_chat_id:
        return str(message.chat_id), str(message.migrate_to_chat_id)
    if message and message.migrate_from_chat_id:
        return str(message.migrate_from_chat_id), str(message.chat_id)
    return None

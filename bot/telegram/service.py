"""Runs the Telegram adapter: starts, listens, stops."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from telegram import BotCommand, ChatMember, ChatMemberAdministrator, Update
from telegram.constants import ChatType
from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from bot.adapter import AdapterFailed, AdapterStatus, DeliveryError, TokenRefused
from bot.commands import Command
from bot.conversation.conversation import Conversation
from bot.i18n.words import DEFAULT, LANGUAGES, words_for
from bot.listening import Webhook
from bot.request import Place
from bot.settings.model import TelegramSettings
from bot.telegram.adapter import TelegramAdapter
from bot.telegram.client import Bot, map_telegram_errors
from bot.telegram.events import PLATFORM, TelegramIdentity, is_there, read_place, read_update
from bot.telegram.receiving import (
    ALLOWED_UPDATES,
    HOLD_SECONDS,
    Latest,
    Poller,
    PushedUpdates,
    Updates,
    pause_after,
)
from db.chat.chats import Chats
from db.chat.events import Inbox
from engine.errors import StorageError, UsageError
from engine.messages import Message

logger = logging.getLogger("presagio.telegram")

_LONGEST_DESCRIPTION = 256
_ADMINS = {ChatMember.ADMINISTRATOR, ChatMember.OWNER}


class TelegramService:
    """One bot account. Updates are pushed if the settings have `webhook_url`, else polled."""

    def __init__(
        self,
        settings: TelegramSettings,
        *,
        token: str,
        webhook_secret: str = "",
        conversation: Conversation,
        chats: Chats,
        inbox: Inbox,
        commands: Sequence[Command],
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._webhook_secret = webhook_secret
        self._conversation = conversation
        self._chats = chats
        self._commands = commands
        self._now = now
        self._bot = Bot(token, api_base=settings.api_base, hold=HOLD_SECONDS)
        self._adapter = TelegramAdapter(self._bot, chats)
        self._typed = Latest()
        self._updates = Updates(self._bot, self._handle, inbox)
        self._pushed = PushedUpdates(self._bot, self._handle, secret=webhook_secret)
        self._poller: Poller | None = None
        self._listening = False
        self._memberships = asyncio.Lock()

    @property
    def webhook(self) -> Webhook | None:
        """The webhook that Telegram pushes to, or None if updates are polled."""
        if not (url := self._settings.webhook_url):
            return None
        path = "/" + unquote(urlsplit(url).path).lstrip("/")
        return Webhook(platform=PLATFORM, path=path, answer=self._pushed.answer)

    def status(self) -> AdapterStatus:
        """Return whether updates can be received now."""
        answered = self._poller is None or self._poller.has_answered
        way = "webhook" if self._settings.webhook_url else "polling"
        return AdapterStatus(listening=self._listening and answered, way=way)

    async def run(self) -> None:
        """Answer until cancelled; pushed updates have to reach `webhook`.

        An outage of Telegram or of the database at the start is waited for. Raises AdapterFailed
        when Telegram refuses the token or the webhook, or the secret is not valid.
        """
        try:
            if self._settings.webhook_url:
                await self._receive_pushes()
            else:
                await self._poll()
        except InvalidToken:
            # Not "from error": its message contains the token.
            raise TokenRefused(
                Message("Telegram refuses the token."),
                fix=Message("Set TELEGRAM_BOT_TOKEN to the token that @BotFather gave."),
            ) from None
        except BadRequest as error:
            raise AdapterFailed(
                Message("Telegram refuses: {reason}.", reason=error.message),
                fix=Message("Check telegram.webhook_url."),
            ) from error
        finally:
            self._listening = False

    async def stop(self, seconds: float) -> None:
        """Abandon what is still under way after `seconds`, and close the connections."""
        self._pushed.close()
        await self._updates.wait_until_idle(seconds / 2)
        if self._poller:
            await self._poller.confirm(seconds / 2)
        await self._updates.let_go()
        await self._bot.shutdown()

    async def _poll(self) -> None:
        await self._retry_through_outages(self._log_in)
        await self._retry_through_outages(
            lambda: self._bot.delete_webhook(drop_pending_updates=False)
        )
        await self._retry_through_outages(self._updates.resume)
        self._conversation.resume_compositions(self._adapter, self._now)
        self._poller = Poller(self._bot, self._updates)
        self._listening = True
        await self._poller.run()

    async def _receive_pushes(self) -> None:
        self._pushed.check_secret()
        await self._retry_through_outages(self._log_in)
        await self._retry_through_outages(self._updates.resume)
        self._conversation.resume_compositions(self._adapter, self._now)
        self._pushed.open()
        try:
            await self._retry_through_outages(
                lambda: self._bot.set_webhook(
                    self._settings.webhook_url,
                    secret_token=self._webhook_secret,
                    allowed_updates=ALLOWED_UPDATES,
                    drop_pending_updates=False,
                )
            )
            self._listening = True
            await asyncio.Event().wait()
        finally:
            self._pushed.close()

    async def _retry_through_outages(self, step: Callable[[], Awaitable[object]]) -> None:
        """Run one step of the start, waiting out outages. Raises InvalidToken, BadRequest."""
        failures = 0
        while True:
            try:
                await step()
            except (InvalidToken, BadRequest):
                raise
            except (TelegramError, StorageError) as error:
                failures += 1
                pause = pause_after(error, failures)
                logger.warning("Telegram: %s; trying again in %.0f s", error, pause)
                await asyncio.sleep(pause)
            else:
                return

    async def _log_in(self) -> None:
        await self._bot.initialize()
        await self._set_menus()
        logger.info("Telegram: logged in as @%s", self._bot.username)

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
        if change := update.my_chat_member:
            there = is_there(change.new_chat_member)
            async with self._memberships:  # in order, so that the last change wins
                # Paused where the bot was blocked or removed, resumed where it is let back in.
                await self._chats.set_active(PLATFORM, str(change.chat.id), active=there)
            await self._answer(update)
        elif moved := _read_move(update):
            await self._chats.move(PLATFORM, *moved)
        elif update.inline_query and not await self._typed.stays(update.inline_query.from_user.id):
            return
        else:
            await self._answer(update)

    async def _answer(self, update: Update) -> None:
        if request := read_update(update, self._read_identity, now=self._now()):
            await self._conversation.answer(request, self._adapter)

    @property
    def _read_identity(self) -> TelegramIdentity:
        return TelegramIdentity(
            id=self._bot.id,
            username=self._bot.username,
            hears_all=self._bot.can_read_all_group_messages,
            commands=frozenset(name for command in self._commands for name in command.names),
            is_admin=self._is_admin,
            channel=self._find_channel,
            download=self._download_file,
        )

    async def _download_file(self, file_id: str, to: Path) -> None:
        async with map_telegram_errors():
            await self._bot.download(file_id, to)

    async def _is_admin(self, chat_id: int, user_id: int) -> bool:
        try:
            member = await self._bot.get_chat_member(chat_id, user_id)
        except TelegramError as error:
            raise DeliveryError(
                Message("Telegram does not say who is an admin."), fix=Message("Try again later.")
            ) from error
        return member.status in _ADMINS

    async def _find_channel(self, name: str, user_id: int) -> Place:
        """Return a channel in which a person is an admin and the bot may post.

        Nothing of it is stored: who is no admin any more has no say any more. Raises UsageError,
        and DeliveryError if Telegram does not answer.
        """
        try:
            chat = await self._bot.get_chat(name if name.startswith("@") else int(name))
            asker = await self._bot.get_chat_member(chat.id, user_id)
            own = await self._bot.get_chat_member(chat.id, self._bot.id)
        except (BadRequest, Forbidden) as error:
            raise UsageError(
                Message("I cannot see {name}. Make me an admin of the channel first.", name=name)
            ) from error
        except TelegramError as error:
            raise DeliveryError(
                Message("Telegram does not say who is an admin."), fix=Message("Try again later.")
            ) from error
        if chat.type != ChatType.CHANNEL:
            raise UsageError(Message("{name} is no channel. Write the command there.", name=name))
        if asker.status not in _ADMINS:
            raise UsageError(Message("Only admins of {name} may do that.", name=name))
        if not (isinstance(own, ChatMemberAdministrator) and own.can_post_messages):
            raise UsageError(Message("I may not post in {name}. Its admins can let me.", name=name))
        return read_place(chat)


def _read_move(update: Update) -> tuple[str, str] | None:
    """Return (old id, new id) of a group that became a supergroup, else None."""
    message = update.message
    if message and message.migrate_to_chat_id:
        return str(message.chat_id), str(message.migrate_to_chat_id)
    if message and message.migrate_from_chat_id:
        return str(message.migrate_from_chat_id), str(message.chat_id)
    return None

"""Tells the operators in private what only they can mend, at most once an hour for each kind."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Never

from bot.jobs.content import Trouble, content_to_json
from bot.pace import RateLimit
from db.chat.chats import Access, Chats
from db.pool import Database
from db.posting.outbox import Outbox
from engine.chat import Chat
from engine.errors import BudgetHeld, CorpusWithheld, ModelPaused, PresagioError, StorageError
from engine.messages import Message

logger = logging.getLogger("presagio.operators")

PACE = timedelta(hours=1)
_AGAIN_SECONDS = 5.0
# A pause follows failures that were told; what is withheld was decided by an operator.
_EXPECTED = (BudgetHeld, ModelPaused, CorpusWithheld)


def ignore(_: PresagioError) -> None:
    """Ignore an error, where nobody can be told."""


class Troubles:
    """What went wrong, owed to the operators through the outbox.

    Operators are the owners of the bot on `platforms`, and those whom `admins` name as
    "platform:person". Reporting waits for nothing; `run`, or `store`, keeps what was reported.
    """

    def __init__(
        self,
        database: Database,
        *,
        platforms: Collection[str],
        admins: Collection[str] = (),
        now: Callable[[], datetime],
    ) -> None:
        self._outbox, self._access = Outbox(database), Access(database)
        self._chats = Chats(database)
        self._platforms, self._admins = tuple(platforms), tuple(admins)
        self._now = now
        self._pace = RateLimit(1, window=PACE.total_seconds())  # for each kind
        self._waiting: dict[str, Message] = {}
        self._some = asyncio.Event()

    def report(self, error: PresagioError) -> None:
        """Log an error that an operator has to mend, and tell the operators. Others are ignored,
        and so are those that people read in the same words: they are as the settings have it."""
        if error.plain in (None, error.message) or isinstance(error, _EXPECTED):
            return
        kind = type(error).__name__
        logger.warning("%s: %s", kind, error)
        if not self._pace.wait(kind, self._now().timestamp()):
            self._waiting[kind] = error.full_message
            self._some.set()

    async def run(self) -> Never:
        """Store what is reported, until cancelled; while the database is away, wait for it."""
        while True:
            await self._some.wait()
            self._some.clear()
            try:
                await self.store()
            except StorageError as error:
                logger.warning("the operators are told later: %s", error)
                self._some.set()
                await asyncio.sleep(_AGAIN_SECONDS)

    async def store(self) -> None:
        """Store what was reported. Raises StorageError, and keeps what is left."""
        for kind, message in tuple(self._waiting.items()):
            content = content_to_json(Trouble(said=message))
            for chat in await self.operators():
                await self._outbox.owe_trouble(chat, kind, content, pace=PACE, now=self._now())
            self._waiting.pop(kind, None)

    async def operators(self) -> Sequence[Chat]:
        """Return the private chats of the operators whom the bot can reach. Raises StorageError."""
        operators: dict[int, Chat] = {}
        owners = []
        for platform in self._platforms:
            if owner := await self._access.owner(platform):
                owners.append(f"{platform}:{owner.person}")
                if chat := await self._chats.find_chat(platform, owner.chat):
                    operators[chat.id] = chat
        for name in self._admins:
            platform, _, person = name.partition(":")
            if name not in owners and platform in self._platforms:
                # Telegram gives the private chat the person's id; Slack takes the id for the chat.
                chat = await self._chats.meet(platform, person, private=True, title=None)
                operators[chat.id] = chat
        return tuple(operators.values())

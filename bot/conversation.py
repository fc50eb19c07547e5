"""One event, from the gates to the delivered reply, the same on every platform."""

import asyncio
import logging
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.commands.registry import Registry, Services
from bot.face import ChatGone, DeliveryError, Face
from bot.gates import Gates, Stop
from bot.reply import Reply
from bot.request import Place, Request, Trigger
from bot.words import words_for
from db.chats import Chats
from db.turns import Turns
from engine.errors import PresagioError, StorageError

logger = logging.getLogger("presagio.conversation")


class Conversation:
    """Answers events one after the other in each chat, and many chats at once.

    `most` events may be under way or waiting; what comes then is told that the bot is busy.
    """

    def __init__(
        self,
        *,
        gates: Gates,
        turns: Turns,
        chats: Chats,
        commands: Registry,
        services: Services,
        most: int = 500,
    ) -> None:
        self._gates = gates
        self._turns = turns
        self._chats = chats
        self._commands = commands
        self._services = services
        self._most = most
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._order = _Order()

    async def answer(self, request: Request, face: Face) -> None:
        """Answer an event, or keep silent. Raises nothing but CancelledError."""
        crowded = self._under_way >= self._most
        self._under_way += 1
        self._idle.clear()
        try:
            if crowded:
                await self._turn(request, face, crowded=True)
            else:
                async with self._order.of(request.place):
                    await self._turn(request, face, crowded=False)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def drain(self, seconds: float) -> bool:
        """Wait until nothing is under way; False when it still is after `seconds`."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _turn(self, request: Request, face: Face, *, crowded: bool) -> None:
        try:
            admitted = await self._gates.admit(request, crowded=crowded)
            if isinstance(admitted, Stop):
                await self._stopped(request, admitted, face)
                return
            await self._admitted(admitted, face)
        except StorageError as error:
            logger.warning("%s: the database failed: %s", request.event_id, error)
            await self._lament(request, face, str(error))

    async def _admitted(self, request: Request, face: Face) -> None:
        try:
            if request.trigger is not Trigger.OVERHEARD:
                await face.show_busy(request)
            reply = await self._reply(request)
        except BaseException:
            # Cancelled, or the database is gone: the event may be delivered and taken again.
            self._gates.forget(request)
            await asyncio.shield(self._turns.release(request.place.platform, request.event_id))
            raise
        await self._settle(request, reply, face)

    async def _reply(self, request: Request) -> Reply | None:
        """Return the answer; what nobody foresaw becomes an apology with a number in the log."""
        try:
            return await self._commands.answer(request, self._services)
        except StorageError:
            raise
        except PresagioError as error:
            return Reply(words=request.words, text=str(error), ephemeral=True)
        except Exception:
            incident = secrets.token_hex(4)
            logger.exception("incident %s while answering %s", incident, request.event_id)
            text = request.words.say(
                "Sorry, something went wrong. Its number in the log is {incident}.",
                incident=incident,
            )
            return Reply(words=request.words, text=text, ephemeral=True)

    async def _stopped(self, request: Request, stop: Stop, face: Face) -> None:
        logger.debug("%s: %s", request.event_id, stop.why)
        if stop.taken:
            await self._settle(request, stop.reply, face)

    async def _settle(self, request: Request, reply: Reply | None, face: Face) -> None:
        """Deliver at most once: the event is marked before anything is sent."""
        event = (request.place.platform, request.event_id)
        if reply is not None and await self._turns.answering(*event):
            await self._deliver(request, reply, face)
        await self._turns.done(*event)

    async def _deliver(self, request: Request, reply: Reply, face: Face) -> None:
        try:
            await face.deliver(request, reply)
        except ChatGone as error:
            logger.info("%s is gone: %s", request.place.platform, error)
            await self._chats.deactivate(request.place.platform, request.place.chat_id)
        except DeliveryError as error:
            logger.warning("%s was not delivered: %s", request.event_id, error)

    async def _lament(self, request: Request, face: Face, said: str) -> None:
        """Tell those who asked that the database is away; nothing else can be known then."""
        if request.trigger is Trigger.OVERHEARD or request.person.bot or request.person.myself:
            return
        words = words_for(request.person.language)
        reply = Reply(words=words, text=said, ephemeral=True)
        try:
            await face.deliver(request, reply)
        except DeliveryError as error:
            logger.warning("%s was not delivered: %s", request.event_id, error)


class _Order:
    """A queue for each chat, for as long as somebody stands in it."""

    def __init__(self) -> None:
        self._locks: dict[Place, asyncio.Lock] = {}
        self._standing: dict[Place, int] = defaultdict(int)

    @asynccontextmanager
    async def of(self, place: Place) -> AsyncIterator[None]:
        """Wait for those of this chat that came before."""
        chat = Place(platform=place.platform, chat_id=place.chat_id, private=place.private)
        lock = self._locks.setdefault(chat, asyncio.Lock())
        self._standing[chat] += 1
        try:
            async with lock:
                yield
        finally:
            self._standing[chat] -= 1
            if not self._standing[chat]:
                del self._standing[chat], self._locks[chat]

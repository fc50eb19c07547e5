"""Ordered checks before any work. The first that stops a request ends it."""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from bot.reply import Reply
from bot.request import Request, Trigger
from bot.words import words_for
from db.chats import Chats
from db.quotas import Quotas
from db.turns import Turns

logger = logging.getLogger("presagio.gates")

_REMEMBERED = 10_000  # events, in this process


@dataclass(frozen=True, slots=True)
class Stop:
    """The request ends here, mostly in silence. `why` goes to the log."""

    why: str
    reply: Reply | None = None
    taken: bool = False  # this process holds the event and has to settle it


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Who may ask, and how often a day; 0 = not at all, -1 = without limit.

    Chats are named "platform:id". An empty `allow` lets everybody in.
    """

    allow: Sequence[str] = ()
    block: Sequence[str] = ()
    user_daily: int = 100
    chat_daily: int = 500


class Gates:
    """Self, bot, empty, duplicate, allowed chat, quota, busy: in this order."""

    def __init__(self, *, turns: Turns, chats: Chats, quotas: Quotas, limits: Limits) -> None:
        self._turns = turns
        self._chats = chats
        self._quotas = quotas
        self._limits = limits
        self._seen: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def admit(self, request: Request, *, crowded: bool) -> Request | Stop:
        """Return the request with its chat and language, or why it ends.

        `crowded` says that too many others are being answered. Raises StorageError.
        """
        if why := _not_meant(request):
            return Stop(why)
        if not await self._first(request):
            return Stop("duplicate")
        admitted = await self._with_chat(request)
        if not self._allowed(admitted):
            return Stop("chat not allowed", taken=True)
        if stop := await self._over_quota(admitted):
            return stop
        if crowded:
            return Stop("busy", _aloud(admitted, _busy(admitted)), taken=True)
        return admitted

    async def _first(self, request: Request) -> bool:
        """Take the event: once in this process, once in all of them."""
        event = (request.place.platform, request.event_id)
        if event in self._seen:
            return False
        self._seen[event] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return await self._turns.take(*event, now=request.now)

    def forget(self, request: Request) -> None:
        """Let the event be taken again: it was given back unanswered."""
        self._seen.pop((request.place.platform, request.event_id), None)

    async def _with_chat(self, request: Request) -> Request:
        place = request.place
        chat = await self._chats.meet(
            place.platform,
            place.chat_id,
            private=place.private,
            title=place.title,
            time_zone=request.person.time_zone or "UTC",
        )
        words = words_for(chat.language or request.person.language)
        return replace(request, chat=chat, words=words)

    def _allowed(self, request: Request) -> bool:
        name = f"{request.place.platform}:{request.place.chat_id}"
        if name in self._limits.block:
            return False
        return not self._limits.allow or name in self._limits.allow

    async def _over_quota(self, request: Request) -> Stop | None:
        scopes = (
            (f"user:{request.who}", self._limits.user_daily),
            (f"chat:{request.known_chat.id}", self._limits.chat_daily),
        )
        for scope, limit in scopes:
            if limit >= 0 and await self._quotas.use(scope, now=request.now) > limit:
                return Stop("over quota", _aloud(request, _enough(request)), taken=True)
        return None


def _not_meant(request: Request) -> str | None:
    """Say why an event is not meant to be answered at all, or None."""
    if request.person.myself:
        return "own message"
    if request.person.bot:
        return "other bot"
    if request.edited or not request.text.strip("\0 \t\r\n"):
        return "edited or empty"
    return None


def _aloud(request: Request, reply: Reply) -> Reply | None:
    """Nobody asked for anything when the bot only overheard."""
    return None if request.trigger is Trigger.OVERHEARD else reply


def _busy(request: Request) -> Reply:
    text = request.words.say("I have too much to do just now. Try again in a minute.")
    return Reply(words=request.words, text=text, ephemeral=True)


def _enough(request: Request) -> Reply:
    today = request.now.astimezone(UTC).date()
    tomorrow = datetime.combine(today + timedelta(days=1), time(), tzinfo=UTC)
    hours, minutes = divmod(int((tomorrow - request.now).total_seconds()) // 60, 60)
    text = request.words.say(
        "That was enough for today. I answer again in {hours} h {minutes} min (00:00 UTC).",
        hours=hours,
        minutes=minutes,
    )
    return Reply(words=request.words, text=text, ephemeral=True)

"""Ordered checks before any work. The first that fails ends the request."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from time import monotonic
from typing import Literal

from bot.app import App
from bot.commands.headline_detection import looks_like_headline
from bot.conversation.admission import WRONG_CODE, Admits, Stop
from bot.i18n.words import Words, words_for
from bot.pace import RateLimit
from bot.replies.limits import cut
from bot.reply import Reply, reply_aside
from bot.request import Place, Request, Trigger
from db.chat.chats import Quotas
from engine.chat import Chat, say_city, zone_named, zone_or_utc
from engine.posting.schedule import is_quiet

_REMEMBERED = 1000  # people
_LONGEST_NAME = 60
_WRONG_CODES = 5  # that are told so in a minute
_OVERHEARD = 3  # headlines of one person, searched at once
_PAUSE_SECONDS = 1.0  # after which somebody who searched too fast may search again


class Gates:
    """Checks, after `not_meant`, in this order: access lists, pace of buttons, the doorkeeper,
    listening mode, pace of headlines, files that cannot be read, and load; and quotas, once it is
    the turn of a request.

    `counts` returns how often quotas count a request; `clock` returns monotonic seconds.
    """

    def __init__(
        self,
        app: App,
        counts: Callable[[Request], int],
        doorkeeper: Admits,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        limits = app.settings.chat
        self._chats = app.chats
        self._quotas = Quotas(app.database)
        self._limits = limits
        self._counts = counts
        self._doorkeeper = doorkeeper
        self._notices = RateLimit(1)  # a minute for each person and chat
        self._wrong_codes = RateLimit(_WRONG_CODES)
        self._clock = clock
        self._presses = RateLimit(limits.buttons_per_minute)
        self._searching: dict[str, set[tuple[str, str]]] = {}  # events of each person in a chat
        self._hurried: OrderedDict[str, float] = OrderedDict()

    async def admit(self, request: Request, *, crowded: bool) -> Request | Stop:
        """Return the request with its chat and language, or a Stop.

        `crowded` means that too many other events are under way. Raises StorageError.
        """
        admitted = await self._let_in(request)
        if isinstance(admitted, Stop):
            return admitted
        if not may_be_answered(admitted):
            return Stop("not listening")
        if admitted.hurried:
            sentence = admitted.words.say("One at a time, please. Send me the others later.")
            return Stop("too fast", self._build_notice(admitted, sentence))
        unread = admitted.unreadable and not admitted.brings_archive
        if unread and not await self._claim_daily_hint(admitted):
            return Stop("told today")
        if crowded:
            return Stop("busy", self._build_busy_notice(admitted))
        return admitted

    async def charge(self, request: Request) -> Stop | None:
        """Count an admitted request whose turn it is; return a Stop if it exceeds a quota.

        What still waits is not counted: if the process stops, another one answers and counts it.
        Raises StorageError.
        """
        quota = await self._charge_quotas(request)
        if quota is None:
            return None
        asker = replace(request, words=request.words_to_asker(self._limits.admins))
        overheard = request.trigger is Trigger.OVERHEARD
        return Stop("over quota", None if overheard else _build_quota_notice(asker, quota))

    async def _let_in(self, request: Request) -> Request | Stop:
        """Return the request with its chat and language, or a Stop if its person is kept out."""
        if not self._limits.admits(request.listed_as):
            return Stop("chat not allowed")
        if request.trigger is Trigger.BUTTON and self._presses.wait(request.who, self._clock()):
            presser = replace(request, words=words_for(request.person.language))
            sentence = presser.words.say("That is too fast for me. Try again in a minute.")
            return Stop("too many buttons", self._build_notice(presser, sentence))
        met = await self._with_chat(request)
        admitted = await self._doorkeeper.admit(met)
        if isinstance(admitted, Stop) and admitted.reply and met.place.kept:
            # What stands inline is no message: it neither disturbs nor replaces one.
            return admitted if self._claim_notice(met, admitted.why) else Stop(admitted.why)
        return admitted

    def allows(self, request: Request) -> bool:
        """Return whether the chat is admitted, as far as known without querying the database."""
        return self._limits.admits(request.listed_as) and self._doorkeeper.expects(request)

    def turned_away(self, request: Request) -> Reply | None:
        """Return the reply when there is no room at all, without querying the database."""
        if not self.allows(request):
            return None
        return self._build_busy_notice(replace(request, words=words_for(request.person.language)))

    def _build_busy_notice(self, request: Request) -> Reply | None:
        return self._build_notice(
            request, request.words.say("I have too much to do just now. Try again in a minute.")
        )

    def _build_notice(self, request: Request, sentence: str) -> Reply | None:
        """Return a notice, once a minute per person and chat, as others may not see it; none about
        what was only overheard."""
        if request.trigger is Trigger.OVERHEARD or not self._claim_notice(request):
            return None
        return reply_aside(request, sentence)

    @contextmanager
    def keep_pace(self, request: Request) -> Iterator[Request]:
        """Yield a request until it is finished, marked if its person is still being answered."""
        hurried = False
        among_others = request.place.kept and not request.place.private
        if among_others and request.trigger is not Trigger.BUTTON and self._counts(request):
            who, overheard = _searcher(request), request.trigger is Trigger.OVERHEARD
            under_way = self._searching.get(who, set())
            hurried = self._note_pace(who, len(under_way) >= (_OVERHEARD if overheard else 1))
            if not hurried:
                self._searching[who] = {*under_way, request.event}
        try:
            yield replace(request, hurried=hurried)
        finally:
            self.finish(request)

    def finish(self, request: Request) -> None:
        """Let the person of a request search again: its answer is about to be sent."""
        who = _searcher(request)
        if left := self._searching.pop(who, set()) - {request.event}:
            self._searching[who] = left

    def _note_pace(self, who: str, is_searching: bool) -> bool:
        """Return whether somebody searches too fast: while being answered, or a moment after the
        last search that was too fast; and note the moment if so."""
        now, before = self._clock(), self._hurried.get(who)
        if not is_searching and (before is None or now - before >= _PAUSE_SECONDS):
            return False
        self._hurried[who] = now
        self._hurried.move_to_end(who)
        if len(self._hurried) > _REMEMBERED:
            self._hurried.popitem(last=False)
        return True

    def _claim_notice(self, request: Request, why: str = "") -> bool:
        """Return whether a person may be told something now, and count it against the pace; who
        copies a code wrongly tries again at once, and was often told to wait just before."""
        whom = f"{request.place.key}:{request.person.id}:{why}"
        notices = self._wrong_codes if why == WRONG_CODE else self._notices
        # By the time of the event; the pace of buttons alone is told by the clock of the process.
        return not notices.wait(whom, request.now.timestamp())

    async def _with_chat(self, request: Request) -> Request:
        chat = (
            await self._meet_chat(request) if request.place.kept else _default_chat(request.place)
        )
        words = words_for(chat.language or request.person.language)
        return replace(request, chat=chat, words=words)

    async def _meet_chat(self, request: Request) -> Chat:
        place, zone = request.place, zone_named(request.person.time_zone)
        is_request = request.trigger is not Trigger.OVERHEARD
        return await self._chats.meet(
            place.platform,
            place.chat_id,
            private=place.private,
            title=place.title,
            time_zone=zone.key if zone else "UTC",
            asked_in=words_for(request.person.language).language if is_request else None,
        )

    async def _claim_daily_hint(self, request: Request) -> bool:
        """Return whether the chat may be told that pictures and files are not read: once a day, so
        that a second call returns False."""
        scope = f"unreadable:{request.known_chat.id}"
        return await self._quotas.use(scope, now=request.now) == 1

    async def _charge_quotas(self, request: Request) -> "_Quota | None":
        """Count the request against the quotas that apply to it; return the first that it exceeds.

        That of the chat is charged first, and stays charged if the person's is used up.
        """
        times = self._counts(request)
        if not times:
            return None
        for quota in self._list_quotas(request):
            used = await self._quotas.use(
                quota.scope, now=request.now, title=quota.title, times=times
            )
            if 0 <= quota.limit < used:  # -1: no limit
                return quota
        return None

    def _list_quotas(self, request: Request) -> "Iterator[_Quota]":
        who = cut(" ".join(request.person.name.split()), _LONGEST_NAME) or None
        if request.place.kept:
            title = who if request.place.private else None  # groups have their own
            limit = self._limits.chat_daily
            yield _Quota("chat_daily", f"chat:{request.known_chat.id}", title, limit)
        if request.trigger is not Trigger.OVERHEARD:
            yield _Quota("user_daily", f"user:{request.payer}", who, self._limits.user_daily)


@dataclass(frozen=True, slots=True)
class _Quota:
    """How often a chat or a person may search a day, as a setting says; `scope` is its name in the
    database, `title` whom it is of."""

    setting: Literal["chat_daily", "user_daily"]
    scope: str
    title: str | None
    limit: int

    def describe(self, words: Words) -> str:
        """Return the quota in words."""
        if self.setting == "chat_daily":
            return words.count(
                "{number} search a day here", "{number} searches a day here", self.limit
            )
        return words.count(
            "{number} search a day for each person",
            "{number} searches a day for each person",
            self.limit,
        )


def may_be_answered(request: Request) -> bool:
    """Return whether the chat's settings allow an answer to this event, before any other work."""
    chat, listening = request.known_chat, request.known_chat.listening
    if request.place.private:
        return True
    match request.trigger:
        case Trigger.COMMAND | Trigger.BUTTON:
            return True
        case Trigger.ADDRESSED:
            return listening.mentions or request.command_call is not None
        case Trigger.REPLY:
            return listening.replies
        case Trigger.OVERHEARD:
            return listening.headlines and not is_quiet(chat, request.now)


def _searcher(request: Request) -> str:
    """Return the name of a person in a chat. Who is overheard does not wait for an answer."""
    heard = request.trigger is Trigger.OVERHEARD
    return f"{request.place.chat_id}:{request.who}:{heard}"


def not_meant(request: Request) -> str | None:
    """Return why an event needs no answer, or None if it does.

    It is the bot's own, another bot's, or empty; or it was overheard and is no headline.
    """
    if request.person.myself:
        return "own message"
    if request.person.bot:
        return "other bot"
    # A bare mention is answered with a hint, and so is an answer of the bot that somebody forwards.
    mentioned = request.trigger is Trigger.ADDRESSED and request.place.kept
    if not (request.text or mentioned or request.is_deletion or request.unreadable):
        return "empty"
    overheard = request.trigger is Trigger.OVERHEARD and not request.is_deletion
    if overheard and (request.command_call or not looks_like_headline(request.text)):
        return "overheard, no headline"
    return None


def _default_chat(place: Place) -> Chat:
    """Return a chat with default settings for a place without one; its id is in no row."""
    return Chat(id=0, platform=place.platform, external_id=place.chat_id, private=place.private)


def _build_quota_notice(request: Request, quota: _Quota) -> Reply:
    today = request.now.astimezone(UTC).date()
    tomorrow = datetime.combine(today + timedelta(days=1), time(), tzinfo=UTC)
    # Rounded up, so that waiting for the stated time is enough.
    left = -(-int((tomorrow - request.now).total_seconds()) // 60)
    zone = request.chat.time_zone if request.chat else "UTC"
    local = tomorrow.astimezone(zone_or_utc(zone))
    words = request.words
    enough = words.say(
        "That was enough for today: {quota}. I answer again in {hours} h {minutes} min"
        " ({time}, {city}).",
        quota=quota.describe(words),
        hours=left // 60,
        minutes=left % 60,
        time=f"{local.hour}:{local:%M}",
        city=request.words.say(say_city(zone)),
    )
    if words.operator:
        more = words.say("{setting} in [chat] allows more.", setting=quota.setting)
    else:
        more = words.say("Whoever runs me can allow more.")
    return reply_aside(request, f"{enough} {more}")

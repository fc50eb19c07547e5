"""Checks before any work, in order: the first that fails ends the request.

One of them is who may use the bot: its owner, those whom the settings name, and those whom the
owner lets in.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from enum import Enum, auto
from time import monotonic

from bot.app import App
from bot.commands.headline_detection import looks_like_headline, may_wait
from bot.commands.rights import Ownership
from bot.i18n.words import marked, words_for
from bot.pace import RateLimit, Recent
from bot.replies.limits import cut
from bot.reply import Reply, reply_aside
from bot.request import Request, Trigger
from bot.settings.model import ChatSettings
from db.chat.chats import Quotas
from engine.chat import (
    AdmissionState,
    AskOutcome,
    Chat,
    Standing,
    say_city,
    zone_named,
    zone_or_utc,
)
from engine.posting.schedule import is_quiet

_START = "start"
_ASKING = frozenset({"prophecy", "p", "ask", "find"})  # commands that are answered late too
_CODE = re.compile(r"[A-Za-z0-9]{6,12}")  # as it may be typed
_HAS_BEEN_ASKED = marked("My owner decides who may use me, and has been asked.")
_TOLD = {
    AskOutcome.ASKED: _HAS_BEEN_ASKED,
    AskOutcome.WAITS: _HAS_BEEN_ASKED,
    AskOutcome.FULL: marked(
        "My owner decides who may use me, and has not been asked: too many others wait for an"
        " answer. Write to me again tomorrow."
    ),
    AskOutcome.UNREACHABLE: marked(
        "My owner decides who may use me, and cannot be reached just now."
    ),
}
_WRONG_CODE = "wrong code"  # the reason why a request is stopped
_MOST_REMEMBERED = 1000  # names, and people
_LONGEST_NAME = 60
_WRONG_CODES = 5  # that are told so in a minute
_OVERHEARD = 3  # headlines of one person, searched at once
_PAUSE_SECONDS = 1.0  # after which somebody who searched too fast may search again


@dataclass(frozen=True, slots=True)
class Stop:
    """A request that is not processed, usually without a reply. `why` goes to the log."""

    why: str
    reply: Reply | None = None


class Doorkeeper:
    """Admits the owner, those in the settings, and whom the owner lets in; if open, everybody.

    Chats that the settings name are enough for a bot without an owner: others are then ignored
    rather than asked to wait.
    """

    def __init__(self, ownership: Ownership, settings: ChatSettings) -> None:
        self._ownership = ownership
        self._open = settings.access == "open"
        self._allow, self._operators = frozenset(settings.allow), frozenset(settings.admins)
        self._let_in: Recent[str, None] = Recent(_MOST_REMEMBERED)

    async def admit(self, request: Request) -> Request | Stop:
        """Return the request, marked if the owner makes it, or a Stop. Raises StorageError."""
        place, code = request.place, _read_code(request)
        standing = await self._ownership.access.find_standing(
            place.platform, person=request.person.id, chat=place.chat_id
        )
        if code and await self._ownership.claim(request, code):
            standing = Standing(owned=True, owns=True)
        request = replace(request, owner=standing.owns)
        if code and not standing.owns:
            return _refuse_code(request, standing)
        called = request.command_call
        # Somebody adds the bot to a group, or writes /start there.
        brings_in = called is not None and called[0] == _START and not place.private
        if place.broadcast and brings_in and not request.person.as_chat:
            if standing.owns:
                await self._ownership.let_in(place, request)
            return Stop("nobody is greeted in public")
        refused = standing.state is AdmissionState.REFUSED and not standing.owns
        if self._is_named(request) or (self._open and not refused):
            return request
        if standing.owns and brings_in:
            await self._ownership.let_in(place, request)
        if standing.owns or standing.state is AdmissionState.ALLOWED:
            for name in _list_names(request):
                self._let_in[name] = None
            return request
        for name in _list_names(request):
            self._let_in.pop(name, None)
        return await self._stop_stranger(request, standing)

    def expects(self, request: Request) -> bool:
        """Return whether the chat is admitted as far as known without asking the database."""
        if self._open or self._is_named(request):
            return True
        return any(name in self._let_in for name in _list_names(request))

    def _is_named(self, request: Request) -> bool:
        """Return whether the settings name the chat, the person inline, or an operator."""
        return request.listed_as in self._allow or request.who in self._operators

    async def _stop_stranger(self, request: Request, standing: Standing) -> Stop:
        refused = standing.state is AdmissionState.REFUSED
        if request.trigger is Trigger.OVERHEARD or refused or (self._allow and not standing.owned):
            return Stop("not let in")
        words = words_for(request.person.language)
        if not standing.owned:
            sentence = words.say(
                "This bot has no owner yet, so it answers nobody. Its owner writes the code that"
                " presagio serve shows."
            )
        elif not request.place.kept:
            sentence = words.say("Write to me in private first: my owner decides who may use me.")
        else:
            outcome = await self._ownership.ask(request)
            if outcome in {AskOutcome.ASKED, AskOutcome.WAITS}:
                await self._keep_message(request)
            sentence = words.say(_TOLD[outcome])
        if request.is_public:
            return Stop("not let in")
        why = "not let in" if standing.owned else "no owner"
        return Stop(why, reply_aside(replace(request, words=words), sentence))

    async def _keep_message(self, request: Request) -> None:
        """Keep a headline or a question, which is answered once its chat is let in."""
        called, place = request.command_call, request.place
        if called:
            waits = called[0] in _ASKING and bool(called[1])
        else:
            waits = request.trigger is Trigger.ADDRESSED and may_wait(request.text)
        if waits:
            await self._ownership.access.keep_message(
                place.platform, place.chat_id, request.text, thread=place.thread, now=request.now
            )


def _list_names(request: Request) -> frozenset[str]:
    """Return the names of the person and, where there is one, of the chat."""
    place = request.place
    chat = {place.key} if place.kept else set[str]()
    return frozenset({request.who, *chat})


def _refuse_code(request: Request, standing: Standing) -> Stop:
    words = words_for(request.person.language)
    command = "presagio setup --new-owner" if standing.owned else "presagio setup"
    sentence = words.say(
        "This code is wrong or used up: each works once, and for a day at most. Where I run,"
        " {command} shows another.",
        command=command,
    )
    return Stop(_WRONG_CODE, reply_aside(replace(request, words=words), sentence))


def _read_code(request: Request) -> str | None:
    """Return the code of a private "/start CODE", or None."""
    called = request.command_call
    if called is None or called[0] != _START or not request.place.private or not request.place.kept:
        return None
    return called[1] if _CODE.fullmatch(called[1]) else None


class Room(Enum):
    """Whether there is room for one more event."""

    FREE = auto()  # it is answered
    CROWDED = auto()  # the sender is asked to try later
    FULL = auto()  # it is not processed


class Backpressure:
    """Counts events that are under way or waiting.

    Up to `maximum` in total and `max_in_chat` per chat are answered; for as many again the senders
    are asked to try later.
    """

    def __init__(self, *, maximum: int, max_in_chat: int) -> None:
        self._maximum = maximum
        self._max_in_chat = max_in_chat
        self._chats: Counter[str] = Counter()

    def room(self, chat: str) -> Room:
        """Return whether there is room for one more event of this chat."""
        counts = ((self._chats.total(), self._maximum), (self._chats[chat], self._max_in_chat))
        if any(count >= 2 * maximum for count, maximum in counts):
            return Room.FULL
        return Room.CROWDED if any(count >= maximum for count, maximum in counts) else Room.FREE

    @contextmanager
    def count_event(self, chat: str) -> Iterator[None]:
        """Count one event of this chat until the block ends."""
        self._chats[chat] += 1
        try:
            yield
        finally:
            self._chats[chat] -= 1
            if not self._chats[chat]:
                del self._chats[chat]


class Gates:
    """Checks a request that there is no reason to ignore.

    In this order: access lists, pace of buttons, the doorkeeper, listening mode, pace of headlines,
    files that cannot be read, and load; and quotas, once it is the turn of the request.
    `count_searches` returns as how many searches quotas count it; `clock` returns monotonic
    seconds. Without a `doorkeeper` everybody is admitted: whoever writes in the terminal owns the
    machine.
    """

    def __init__(
        self,
        app: App,
        count_searches: Callable[[Request], int],
        doorkeeper: Doorkeeper | None,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        limits = app.settings.chat
        self._chats = app.chats
        self._quotas = Quotas(app.database)
        self._limits = limits
        self._count_searches = count_searches
        self._doorkeeper = doorkeeper
        self._notices = RateLimit(1)  # a minute for each person and chat
        self._wrong_codes = RateLimit(_WRONG_CODES)
        self._clock = clock
        self._presses = RateLimit(limits.buttons_per_minute)
        self._searching: dict[str, set[tuple[str, str]]] = {}  # events of each person in a chat
        self._hurried: Recent[str, float] = Recent(_MOST_REMEMBERED)

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
        if admitted.unreadable and not admitted.brings_archive:
            # A chat is told once a day that pictures and files are not read.
            scope = f"unreadable:{admitted.known_chat.id}"
            if await self._quotas.use(scope, now=admitted.now) > 1:
                return Stop("told today")
        return Stop("busy", self._build_busy_notice(admitted)) if crowded else admitted

    async def charge(self, request: Request) -> Stop | None:
        """Count an admitted request whose turn it is; return a Stop if it exceeds a quota.

        That of the chat is charged first, and stays charged if the person's is used up. What still
        waits is not counted: if the process stops, another one answers and counts it. Raises
        StorageError.
        """
        times, person, place = self._count_searches(request), request.person, request.place
        if not times:
            return None
        who = cut(" ".join(person.name.split()), _LONGEST_NAME) or None
        quotas = []
        if place.kept:
            title = who if place.private else None  # groups have their own
            chat = f"chat:{request.known_chat.id}"
            quotas.append(("chat_daily", chat, title, self._limits.chat_daily))
        if request.trigger is not Trigger.OVERHEARD:
            user = f"user:{request.payer}"
            quotas.append(("user_daily", user, who, self._limits.user_daily))
        for setting, scope, title, limit in quotas:
            used = await self._quotas.use(scope, now=request.now, title=title, times=times)
            if 0 <= limit < used:  # -1: no limit
                asker = replace(request, words=request.words_to_asker(self._limits.admins))
                overheard = request.trigger is Trigger.OVERHEARD
                notice = None if overheard else _build_quota_notice(asker, setting, limit)
                return Stop("over quota", notice)
        return None

    async def _let_in(self, request: Request) -> Request | Stop:
        """Return the request with its chat and language, or a Stop if its person is kept out."""
        if not self._limits.admits(request.listed_as):
            return Stop("chat not allowed")
        if request.trigger is Trigger.BUTTON and self._presses.wait(request.who, self._clock()):
            presser = replace(request, words=words_for(request.person.language))
            sentence = presser.words.say("That is too fast for me. Try again in a minute.")
            return Stop("too many buttons", self._build_notice(presser, sentence))
        chat = await self._meet_chat(request)
        words = words_for(chat.language or request.person.language)
        met = replace(request, chat=chat, words=words)
        admitted = await self._doorkeeper.admit(met) if self._doorkeeper else met
        if isinstance(admitted, Stop) and admitted.reply and met.place.kept:
            # What stands inline is no message: it neither disturbs nor replaces one.
            return admitted if self._claim_notice(met, admitted.why) else Stop(admitted.why)
        return admitted

    def allows(self, request: Request) -> bool:
        """Return whether the chat is admitted, as far as known without querying the database."""
        expected = self._doorkeeper is None or self._doorkeeper.expects(request)
        return self._limits.admits(request.listed_as) and expected

    def turn_away(self, request: Request) -> Reply | None:
        """Return the reply to a request for which there is no room, without asking the database."""
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
        if among_others and request.trigger is not Trigger.BUTTON and self._count_searches(request):
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
        return True

    def _claim_notice(self, request: Request, why: str = "") -> bool:
        """Return whether a person may be told something now, and count it against the pace.

        Wrong codes have a pace of their own: people try again at once after a slip, and were often
        told to wait just before.
        """
        whom = f"{request.place.key}:{request.person.id}:{why}"
        notices = self._wrong_codes if why == _WRONG_CODE else self._notices
        # By the time of the event; the pace of buttons alone is told by the clock of the process.
        return not notices.wait(whom, request.now.timestamp())

    async def _meet_chat(self, request: Request) -> Chat:
        """Return the chat of a request; where there is none, default settings, stored nowhere."""
        place, zone = request.place, zone_named(request.person.time_zone)
        if not place.kept:
            return Chat(
                id=0, platform=place.platform, external_id=place.chat_id, private=place.private
            )
        is_request = request.trigger is not Trigger.OVERHEARD
        return await self._chats.meet(
            place.platform,
            place.chat_id,
            private=place.private,
            title=place.title,
            time_zone=zone.key if zone else "UTC",
            asked_in=words_for(request.person.language).language if is_request else None,
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
    """Return a key for a person in a chat, another one for headlines that are only overheard."""
    heard = request.trigger is Trigger.OVERHEARD
    return f"{request.place.chat_id}:{request.who}:{heard}"


def find_reason_to_ignore(request: Request) -> str | None:
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


def _build_quota_notice(request: Request, setting: str, limit: int) -> Reply:
    words = request.words
    if setting == "chat_daily":
        quota = words.count("{number} search a day here", "{number} searches a day here", limit)
    else:
        quota = words.count(
            "{number} search a day for each person",
            "{number} searches a day for each person",
            limit,
        )
    today = request.now.astimezone(UTC).date()
    tomorrow = datetime.combine(today + timedelta(days=1), time(), tzinfo=UTC)
    # Rounded up, so that waiting for the stated time is enough.
    left = -(-int((tomorrow - request.now).total_seconds()) // 60)
    zone = request.chat.time_zone if request.chat else "UTC"
    local = tomorrow.astimezone(zone_or_utc(zone))
    enough = words.say(
        "That was enough for today: {quota}. I answer again in {hours} h {minutes} min"
        " ({time}, {city}).",
        quota=quota,
        hours=left // 60,
        minutes=left % 60,
        time=f"{local.hour}:{local:%M}",
        city=request.words.say(say_city(zone)),
    )
    if words.operator:
        more = words.say("{setting} in [chat] allows more.", setting=setting)
    else:
        more = words.say("Whoever runs me can allow more.")
    return reply_aside(request, f"{enough} {more}")

"""Whom the bot answers: its owner, whom the settings name, and whom the owner lets in."""

import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Protocol

from bot.commands.plain_messages import may_wait
from bot.commands.rights import Ownership
from bot.i18n.words import marked, words_for
from bot.reply import Reply, reply_aside
from bot.request import Request, Trigger
from bot.settings.model import ChatSettings
from engine.chat import AdmissionState, AskOutcome, Standing

START = "start"
_ASKING = frozenset({"prophecy", "p", "ask", "find"})  # commands that are answered late too

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

WRONG_CODE = "wrong code"  # why somebody is stopped who types one
_REMEMBERED = 1000  # names and people
_CODE = re.compile(r"[A-Za-z0-9]{6,12}")  # as it may be typed


@dataclass(frozen=True, slots=True)
class Stop:
    """A request that is not processed, usually without a reply. `why` goes to the log."""

    why: str
    reply: Reply | None = None


class Admits(Protocol):
    """Decides whom the bot answers of those whom the lists of the settings let in."""

    async def admit(self, request: Request) -> Request | Stop:
        """Return the request, marked if the owner makes it, or a Stop. Raises StorageError."""

    def expects(self, request: Request) -> bool:
        """Return whether the chat is admitted as far as known without asking the database."""


class AdmitEverybody:
    """Admits everybody: whoever writes in the terminal owns the machine."""

    async def admit(self, request: Request) -> Request:
        """Return the request."""
        return request

    def expects(self, request: Request) -> bool:  # noqa: ARG002 - as in the port
        """Return True."""
        return True


class Doorkeeper:
    """Admits the owner, whom the settings name, and whom the owner lets in; if open, everybody.

    Chats that the settings name are enough for a bot without an owner: others are then ignored
    rather than asked to wait.
    """

    def __init__(self, ownership: Ownership, settings: ChatSettings) -> None:
        self._ownership = ownership
        self._open = settings.access == "open"
        self._allow, self._operators = frozenset(settings.allow), frozenset(settings.admins)
        self._let_in: OrderedDict[str, None] = OrderedDict()

    async def admit(self, request: Request) -> Request | Stop:
        """Return the request, marked if the owner makes it, or a Stop. Raises StorageError."""
        standing = await self._find_standing(request)
        request = replace(request, owner=standing.owns)
        if _read_code(request) and not standing.owns:
            return _refuse_code(request, standing)
        if request.place.broadcast and _brings_in(request) and not request.person.as_chat:
            if standing.owns:
                await self._ownership.let_in(request.place, request)
            return Stop("nobody is greeted in public")
        refused = standing.state is AdmissionState.REFUSED and not standing.owns
        if self._is_named(request) or (self._open and not refused):
            return request
        if standing.owns:
            self._remember(request)
            if _brings_in(request):
                await self._ownership.let_in(request.place, request)
            return request
        if standing.state is AdmissionState.ALLOWED:
            self._remember(request)
            return request
        self._forget(request)
        return await self._stop_stranger(request, standing)

    def expects(self, request: Request) -> bool:
        """Return whether the chat is admitted as far as known without asking the database."""
        if self._open or self._is_named(request):
            return True
        return any(name in self._let_in for name in _list_names(request))

    def _is_named(self, request: Request) -> bool:
        """Return whether the settings name the chat, the person inline, or an operator."""
        return request.listed_as in self._allow or request.who in self._operators

    async def _find_standing(self, request: Request) -> Standing:
        place, person = request.place, request.person
        access = self._ownership.access
        standing = await access.find_standing(place.platform, person=person.id, chat=place.chat_id)
        code = _read_code(request)
        if code and await self._ownership.claim(request, code):
            return Standing(owned=True, owns=True)
        return standing

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
        if not waits:
            return
        await self._ownership.access.keep_message(
            place.platform, place.chat_id, request.text, thread=place.thread, now=request.now
        )

    def _remember(self, request: Request) -> None:
        for name in _list_names(request):
            self._let_in[name] = None
            self._let_in.move_to_end(name)
        while len(self._let_in) > _REMEMBERED:
            self._let_in.popitem(last=False)

    def _forget(self, request: Request) -> None:
        for name in _list_names(request):
            self._let_in.pop(name, None)


def _list_names(request: Request) -> frozenset[str]:
    """Return the names of the person and, where there is one, of the chat."""
    place = request.place
    chat = {place.key} if place.kept else set[str]()
    return frozenset({request.who, *chat})


def _brings_in(request: Request) -> bool:
    """Return whether somebody adds the bot to a group, or writes /start there."""
    called = request.command_call
    return called is not None and called[0] == START and not request.place.private


def _refuse_code(request: Request, standing: Standing) -> Stop:
    words = words_for(request.person.language)
    command = "presagio setup --new-owner" if standing.owned else "presagio setup"
    sentence = words.say(
        "This code is wrong or used up: each works once, and for a day at most. Where I run,"
        " {command} shows another.",
        command=command,
    )
    return Stop(WRONG_CODE, reply_aside(replace(request, words=words), sentence))


def _read_code(request: Request) -> str | None:
    """Return the code of a private "/start CODE", or None."""
    called = request.command_call
    if called is None or called[0] != START or not request.place.private or not request.place.kept:
        return None
    return called[1] if _CODE.fullmatch(called[1]) else None

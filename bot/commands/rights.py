"""The table of rights that applies to all commands and buttons, and the replies that refuse a
request."""

import logging
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from functools import partial

from bot.app import App
from bot.i18n.words import Words, marked, words_for
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply
from bot.request import Place, Request, Trigger, traits_of
from db.chat.chats import Access
from engine.chat import Admission, AdmissionState, AskOutcome, BotOwner
from engine.corpora import no_corpora
from engine.errors import PresagioError

logger = logging.getLogger("presagio.conversation")
# Without 0, 1, I, L and O, which people mistake for one another: 8 characters are 39 bits.
_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_CODE_LENGTH = 8
# Whoever finds it later, in a log or a screenshot, can do nothing with it.
CODE_VALID = timedelta(days=1)
CODE_SHOWN = CODE_VALID / 2  # for as long it is shown again; then another one is made
_LONGEST_TITLE = 60
_ADMINS_ONLY = marked("Only admins of this chat may use {command}. Ask one of them.")
_WORKSPACE_ADMINS_ONLY = marked("Only admins of this workspace may use {command}. Ask one of them.")


class Who(IntEnum):
    """The role of the asker in one chat. Each role includes the rights of those before it.

    An admin of another chat is a plain member in this one.
    """

    MEMBER = 0
    CHAT_ADMIN = 1  # of this group or channel, according to the platform
    OPERATOR = 2  # named in chat.admins
    OWNER = 3  # has used the code of this platform


class Where(StrEnum):
    """Kinds of places."""

    PRIVATE = "in private"  # a chat of one person with the bot
    SHARED = "in a group or channel"
    NO_CHAT = "inline"  # a place without a chat, about which nothing is stored

    @classmethod
    def of(cls, place: Place) -> "Where":
        """Return the kind of a place."""
        if not place.kept:
            return cls.NO_CHAT
        return cls.PRIVATE if place.private else cls.SHARED


class Effect(StrEnum):
    """What a command or a button affects."""

    ANSWERS = "answers"  # changes nothing that others see
    POSTS = "votes or posts"  # in this chat
    STEERS_CHAT = "steers this chat"
    STEERS_ALL = "steers every chat"
    OWNS = "lets people in, or sees what they cost"


@dataclass(frozen=True, slots=True)
class Act:
    """The effect of one use of a command or button. The daily quotas count it if `counted`: it
    searches, asks a model, writes, draws, or reads a web page. It is `slow` if it asks a model or
    reads a page before it answers: then others do not wait for it."""

    effect: Effect
    counted: bool = False
    slow: bool = False


LOOKS = Act(Effect.ANSWERS)
COUNTED = Act(Effect.ANSWERS, counted=True)
JUDGED = Act(Effect.ANSWERS, slow=True)  # a model tells what a message wants
SEARCHES = Act(Effect.ANSWERS, counted=True, slow=True)

# The lowest role that may, in private, in a group or channel, and inline; None means nobody.
_ROLES: Mapping[Effect, tuple[Who | None, Who | None, Who | None]] = {
    Effect.ANSWERS: (Who.MEMBER, Who.MEMBER, Who.MEMBER),
    Effect.POSTS: (Who.MEMBER, Who.MEMBER, None),
    Effect.STEERS_CHAT: (Who.MEMBER, Who.CHAT_ADMIN, None),
    # Inline queries are sent while the person is still typing.
    Effect.STEERS_ALL: (Who.OPERATOR, Who.OPERATOR, None),
    # Names of people and sums of money are for nobody else in a group.
    Effect.OWNS: (Who.OWNER, None, None),
}
RIGHTS: Mapping[tuple[Effect, Where], Who | None] = {
    (effect, where): who
    for effect, roles in _ROLES.items()
    for where, who in zip(Where, roles, strict=True)
}


def may_act(who: Who, effect: Effect, where: Where) -> bool:
    """Return whether the role permits the effect in this kind of place."""
    minimum = RIGHTS[effect, where]
    return minimum is not None and who >= minimum


async def explain_refusal(
    name: str, effect: Effect, request: Request, operators: Collection[str]
) -> str | None:
    """Return why the asker may not use `name` and whom to ask, or None if it is permitted.

    The platform is queried only if its answer matters. Raises DeliveryError if it does not answer.
    """
    where = Where.of(request.place)
    role = Who.MEMBER
    if request.owner:
        role = Who.OWNER
    elif request.who in operators:
        role = Who.OPERATOR
    elif may_act(Who.CHAT_ADMIN, effect, where) and not may_act(role, effect, where):
        role = Who.CHAT_ADMIN if await request.inquiries.is_admin() else role
    if may_act(role, effect, where):
        return None
    words, minimum = request.words, RIGHTS[effect, where]
    is_pressed = request.trigger is Trigger.BUTTON and minimum is not None
    command = words.say("this button") if is_pressed else words.write_commands(f"/{name}")
    if minimum is None and where is Where.SHARED:
        return words.say("{command} works in a private chat with me alone.", command=command)
    if minimum is None:
        return words.say("{command} needs a chat. Use it in one with me.", command=command)
    if minimum is Who.OWNER:
        return words.say("Only the owner of this bot may use {command}.", command=command)
    if minimum is Who.OPERATOR:
        return words.say(
            "Only my operators may use {command}, which changes what every chat is told. Ask"
            " whoever runs me; you are {who}.",
            command=command,
            who=request.who,
        )
    of_chat = traits_of(request.place.platform).has_chat_admins
    sentence = _ADMINS_ONLY if of_chat else _WORKSPACE_ADMINS_ONLY
    return words.say(sentence, command=command)


class Ownership:
    """Who owns the bot on each platform, and whom the owner lets in."""

    def __init__(
        self, app: App, write_commands: Callable[[str, str], str] = lambda _, text: text
    ) -> None:
        """`write_commands` takes a platform and a text of the bot, and returns the text with
        commands as people type them there."""
        self.access = Access(app.database)
        self._chats, self._posters = app.chats, app.posters
        self._write_commands = write_commands

    async def code(self, platform: str, *, now: datetime, again: bool = False) -> str | None:
        """Return the code that makes somebody the owner, or None if the platform has an owner.

        It holds for another CODE_SHOWN at least. With `again`, it replaces the owner.
        """
        if not again and await self.access.owner(platform):
            return None
        fresh = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LENGTH))
        return await self.access.code(platform, fresh, now=now, fresh_since=now - CODE_SHOWN)

    async def claim(self, request: Request, code: str) -> bool:
        """Make the writer of a private message the owner if the code is right."""
        place, person = request.place, request.person
        owner = BotOwner(
            platform=place.platform, person=person.id, chat=place.chat_id, language=person.language
        )
        return await self.access.claim(
            owner, code.strip().upper(), now=request.now, made_since=request.now - CODE_VALID
        )

    async def ask(self, request: Request) -> AskOutcome:
        """Ask the owner to let the chat in, at most once. Raises StorageError."""
        place = request.place
        owner = await self.access.owner(place.platform)
        if owner is None:
            return AskOutcome.UNREACHABLE
        title = asker_title(request)
        outcome = await self.access.ask(
            place.platform,
            place.chat_id,
            title=title,
            language=request.person.language,
            now=request.now,
            thread=place.thread,
            broadcast=place.broadcast,
        )
        if outcome is not AskOutcome.ASKED:
            return outcome
        waiting = await self.access.count_waiting(place.platform)
        words = words_for(owner.language).naming_commands(
            partial(self._write_commands, owner.platform)
        )
        question = _build_question(words, request, title, waiting)
        if await self._tell_chat(owner.platform, owner.chat, question):
            return AskOutcome.ASKED
        await self.access.take_back(place.platform, place.chat_id)
        return AskOutcome.UNREACHABLE

    async def let_in(self, place: Place, request: Request) -> None:
        """Let a place in to which the owner brings the bot, or for which the owner sets it up."""
        await self.access.record(
            place.platform,
            place.chat_id,
            AdmissionState.ALLOWED,
            title=asker_title(replace(request, place=place)),
            language=request.person.language,
            now=request.now,
        )

    async def announce(self, admission: Admission) -> None:
        """Tell a chat that it was let in, or not, but nobody in public. A failure is logged."""
        if admission.broadcast:
            return
        words = words_for(admission.language)
        platform, name = admission.platform, admission.external_id
        chat = await self._chats.find_chat(platform, name)
        if admission.state is AdmissionState.ALLOWED:
            how = say_how_to_ask(words, private=chat is None or chat.private)
            sentence = words.say("The owner of this bot has let you in.")
            text = f"{sentence} {how}"
        else:
            text = words.say("The owner of this bot has not let you in.")
        reply = Reply(words=words, text=text)
        await self._tell_chat(platform, name, reply, admission.thread)

    async def _tell_chat(
        self, platform: str, chat_id: str, reply: Reply, thread: str | None = None
    ) -> bool:
        """Post in a chat that the bot knows, and return whether that succeeded."""
        poster = self._posters.get(platform)
        chat = await self._chats.find_chat(platform, chat_id)
        if poster is None or chat is None:
            return False
        try:
            await poster.post(chat, thread, reply, key=f"access:{secrets.token_hex(8)}")
        except PresagioError as error:
            logger.warning("%s:%s was not told: %s", platform, chat_id, error)
            return False
        return True


def say_how_to_ask(words: Words, *, private: bool) -> str:
    """Return how somebody asks: in a group, in the way that works however much is read there."""
    if private:
        return words.say("Paste a headline or a link.")
    return words.say("Write /prophecy and a headline or a link.")


def say_no_archive(request: Request, app: App) -> str:
    """Return what somebody can do who asks before there is an archive."""
    words = request.words
    if app.loader is None and words.operator:
        return words.render(no_corpora().full_message)
    if app.loader and request.owner and request.place.private:
        return words.say(
            "I have no archive yet: send me the file of one here (tweets.js, .zip, .json, .csv)."
        )
    return words.say("I have no archive yet: whoever runs me loads one.")


def asker_title(request: Request) -> str:
    """Return what the owner is shown of a chat: a name, a group's title, or its id."""
    place, person = request.place, request.person
    title = (person.name if place.private else place.title) or place.chat_id
    return cut(" ".join(title.split()), _LONGEST_TITLE)


def decision_button(label: str, state: AdmissionState, name: str) -> tuple[Button, ...]:
    """Return a button, as a row, that decides about a chat; none if its name is too long."""
    value = f"{state.value}={name}"
    if not Action.fits(f"access::{value}"):
        return ()
    return (Button(label=label, action=Action(name="access", value=value)),)


def _build_question(words: Words, request: Request, title: str, waiting: int) -> Reply:
    place = request.place
    name = place.key
    who = request.person.name or request.who
    if place.private or place.broadcast:
        sentence = words.say("{who} ({name}) asks to use this bot.", who=title, name=name)
    else:
        sentence = words.say(
            "{who} asks to use this bot in {title} ({name}).", who=who, title=title, name=name
        )
    if waiting > 1:
        many = words.count(
            "{number} waits for your answer: {command}",
            "{number} wait for your answer: {command}",
            waiting,
            command=words.write_commands("/access"),
        )
        sentence = f"{sentence}\n{many}"
    row = (
        *decision_button(words.say("Allow"), AdmissionState.ALLOWED, name),
        *decision_button(words.say("Refuse"), AdmissionState.REFUSED, name),
    )
    return Reply(words=words, text=sentence, buttons=(row,) if row else ())

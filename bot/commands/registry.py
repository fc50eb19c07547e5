"""The registry of chat commands: finds the command or button of an event and calls its handler."""

import difflib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bot.app import App
from bot.commands.intents import Intent
from bot.commands.plain_messages import apply_judgment, count_headlines, interpret_message
from bot.commands.rights import (
    JUDGED,
    LOOKS,
    SEARCHES,
    Act,
    Effect,
    Ownership,
    explain_refusal,
    say_no_archive,
)
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.reply import Action, Reply, reply_aside
from bot.request import Request, Trigger, traits_of
from db.chat.answers import Answers
from engine.chat import Answer
from engine.corpora import list_default_corpora
from engine.errors import CorpusNotFound, NoCorpora, SeveralCorpora, UsageError
from engine.messages import Message
from engine.text.clean import fold_case_and_accents

_MAX_ARCHIVES = 5  # that a reply names
# The name of a public channel, or the number of a private one.
_CHANNEL = re.compile(r"(?:@[A-Za-z]\w{3,31}|-100\d{5,15})(?!\S)", re.ASCII)
_LONGEST_NAME = 30
_SIMILARITY = 0.65  # of difflib, from 0 to 1: "whi" is like "why", "porque" is not like "more"
_LONGEST_PARTICLE = 3  # letters
_HELP = "help"
HELP_WORDS = (_HELP, "ayuda")
_FEWEST_LETTERS = 2  # of the beginning of a command: "/pic" for /picture
# What commands are called in Spanish by those who guess.
_IN_SPANISH: Mapping[str, str] = {
    "ayuda": "help", "mas": "more", "porque": "why", "imagen": "picture", "foto": "picture",
    "ajustes": "settings", "configuracion": "settings", "idioma": "settings",
    "suscribir": "subscribe", "publicar": "subscribe", "baja": "unsubscribe",
    "buscar": "find", "preguntar": "ask", "profecia": "prophecy",
    "archivo": "corpus", "fuentes": "feeds", "noticias": "feeds", "hoy": "today",
    "escribir": "compose", "empezar": "start", "olvidar": "forget",
}  # fmt: skip
Handler = Callable[[Request, App], Awaitable[Reply | None]]
# Handles a button. If it returns requests, the first is answered in its place, the others after it.
ActionHandler = Callable[
    [Request, Action, App], Awaitable[Reply | Request | tuple[Request, ...] | None]
]


def split_channel(request: Request, text: str) -> tuple[str, str]:
    """Return the channel that a command's argument begins with, or "", and what follows it."""
    match = _CHANNEL.match(text) if request.place.private else None
    return (match[0], text[match.end() :].strip()) if match else ("", text)


async def answer_about(
    name: str,
    request: Request,
    handler: Handler,
    app: App,
    *,
    commands: Collection[str],
    steers: bool,
) -> Reply | None:
    """Answer, in private, a command about a channel.

    If the command `steers` the channel and the owner writes it, the channel is let in. In the
    answer, each of `commands` is followed by the channel, so that it can be copied. Raises
    UsageError if the asker or the bot may not post there.
    """
    place, words = await request.inquiries.find_channel(name), request.words
    if place is None:
        return reply_aside(request, words.say("There are no such channels here."))
    if not app.settings.chat.admits(place.key):
        return reply_aside(request, words.say("I do not work in {name}.", name=name))
    chat = await app.chats.meet(
        place.platform, place.chat_id, private=False, title=place.title, asked_in=words.language
    )
    if request.owner and steers:
        await Ownership(app).let_in(place, request)
    try:
        reply = await handler(replace(request, chat=chat), app)
    except SeveralCorpora:
        return await _ask_which_archive(name, request, app)
    except UsageError as error:
        return reply_aside(
            request, _prefix_channel(name, words.render(error.full_message), commands)
        )
    if reply is None:
        return reply_aside(request, words.say("It goes to {name}.", name=name))
    # A button would act on the chat in which it is pressed, not on the channel.
    return replace(reply, text=_prefix_channel(name, reply.text or "", commands), buttons=())


async def _ask_which_archive(name: str, request: Request, app: App) -> Reply:
    """Ask which archive a channel searches, in words: a button would choose that of this chat."""
    archives = list_default_corpora(await app.corpora.list(), configured=app.settings.search.corpus)
    choices = [f"/corpus {name} {archive.name}" for archive in archives[:_MAX_ARCHIVES]]
    which = request.words.say(
        "There are several archives. Choose that of {name} first: {commands}",
        name=name,
        commands=", ".join(choices),
    )
    return reply_aside(request, which)


def _prefix_channel(name: str, text: str, commands: Collection[str]) -> str:
    """Return an answer about a channel with the channel's name before it, and in its commands."""
    if commands:
        text = re.sub(rf"(?<!\S)/({'|'.join(commands)})\b", rf"/\1 {name}", text)
    return f"{name}: {text}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command. The handler gets the text after the command's name.

    Summary, usage and example are English; they are translated when they are shown. Where one
    command stands before all (Traits.only_command), only a `distinctive` one has a name of its own.
    """

    name: str
    aliases: tuple[str, ...] = ()
    summary: str
    usage: str
    example: str
    handler: Handler
    act: Act  # who may use it, and whether quotas count it
    acts: Mapping[str, Act] = field(default_factory=dict)  # by first word of the argument, or ""
    actions: Mapping[str, ActionHandler] = field(default_factory=dict)  # its buttons
    pressed: Mapping[str, Act] = field(default_factory=dict)  # by button, where it is not `act`
    distinctive: bool = False
    for_channels: bool = False  # its argument may begin with a channel, if written in private
    takes_quoted: bool = False  # without argument, the text of the message it replies to
    takes_headlines: bool = False  # its argument may be several headlines, each of them answered
    details: tuple[str, ...] = ()  # further lines of its help, in English

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases, which are understood on all platforms."""
        return (self.name, *self.aliases)

    def act_on(self, text: str) -> Act:
        """Return the act of the command with the argument `text`."""
        return self.acts.get(_read_first_word(text), self.act)

    def as_called(self, text: str) -> str:
        """Return the name, followed by the first word of `text` if `acts` has it."""
        word = _read_first_word(text)
        return f"{self.name} {word}".strip() if word in self.acts else self.name

    def act_of(self, action: str) -> Act:
        """Return the act of a button of the command."""
        return self.pressed.get(action, self.act)

    def names_on(self, platform: str) -> tuple[str, ...]:
        """Return the names that are available on the platform."""
        if traits_of(platform).only_command:
            return (self.name,) if self.distinctive else ()
        return self.names


class Registry:
    """All commands.

    `plain` handles text that is not a command. `several` handles a request that does not say which
    of several corpora it is about.
    """

    def __init__(
        self,
        commands: Sequence[Command],
        *,
        plain: Handler,
        several: Callable[[Request, App], Awaitable[Reply | Request]] | None = None,
    ) -> None:
        self.commands = tuple(commands)
        self._plain, self._several = plain, several
        self._by_name = {name: command for command in commands for name in command.names}
        if len(self._by_name) != sum(len(command.names) for command in commands):
            raise ValueError("two commands share a name")
        shared = [name for command in commands if not command.distinctive for name in command.names]
        self._shared_names = re.compile(rf"(?<![\w/.:@])/(?=(?:{'|'.join(shared)})\b)")
        self._by_action = {name: command for command in commands for name in command.actions}

    def read(self, request: Request, *, has_judge: bool = False) -> Request:
        """Return an event with the command that it means, or with how its message is answered; if
        a model can be asked, it may stay unclear."""
        return interpret_message(request, self._by_name, has_judge=has_judge)

    def apply_judgment(self, request: Request, intent: Intent | None) -> Request:
        """Return an unclear event with the command that it means, or with how it is answered, by
        the intent that a model has found in it, if any."""
        return apply_judgment(request, self._by_name, intent)

    async def answer(self, request: Request, app: App) -> Reply | None:
        """Return the reply to an event, or None for no reply. Raises PresagioError."""
        try:
            return await self._answer_request(request, app)
        except CorpusNotFound as error:
            if not isinstance(error, NoCorpora | SeveralCorpora):
                raise CorpusNotFound(error.message, fix=Message("See /corpus.")) from error
            if request.trigger is Trigger.OVERHEARD or not request.place.kept:
                raise
            if isinstance(error, NoCorpora):
                return reply_aside(request, say_no_archive(request, app))
            if self._several is None:
                raise
            answer = await self._several(request, app)
            if isinstance(answer, Request):
                return await self._answer_request(answer, app)
            return answer

    async def _answer_request(self, request: Request, app: App) -> Reply | None:
        if request.trigger is Trigger.BUTTON:
            return await self._press_button(request, app)
        if request.command_call is None:
            return await self._plain(request, app)
        name, text = request.command_call
        command = self._by_name.get(name)
        if command is None:
            return reply_aside(request, self._explain_unknown(name, request))
        channel, text = split_channel(request, text) if command.for_channels else ("", text)
        # "help" may also be what to search for, or what the command itself explains.
        if is_help(text) and not command.act.counted and _HELP not in command.acts:
            command, text = self._by_name[_HELP], name
        effect = command.act_on(text).effect
        if refusal := await explain_refusal(
            command.as_called(text), effect, request, app.settings.chat.admins
        ):
            return None if request.is_public else reply_aside(request, refusal)
        request = replace(request, text=text)
        if channel:
            return await answer_about(
                channel,
                request,
                command.handler,
                app,
                commands=[other.name for other in self.commands if other.for_channels],
                steers=effect is Effect.STEERS_CHAT,
            )
        request = request.with_quoted() if command.takes_quoted else request
        return await command.handler(request, app)

    def name_of(self, request: Request) -> str:
        """Return the name of the command or button that an event is for, or "message"."""
        if request.trigger is Trigger.BUTTON:
            pressed = self._read_button(request)
            return pressed[1].name if pressed else "button"
        command = self._by_name.get(request.command_call[0]) if request.command_call else None
        return command.name if command else "message"

    def is_like_command(self, name: str) -> bool:
        """Return whether a first word is the name of a command, or nearly so; short words, such as
        "how" and "el", begin sentences."""
        folded = fold_case_and_accents(name)
        is_near = len(folded) > _LONGEST_PARTICLE and self._find_near(folded)
        return folded in self._by_name or bool(is_near)

    def count_searches(self, request: Request) -> int:
        """Return how many searches an event counts as: one for each headline that is answered."""
        act = self._find_act(request)
        if act is None or not act.counted:
            return 0
        if called := request.command_call:
            if not self._by_name[called[0]].takes_headlines:
                return 1
            request = replace(request, text=called[1]).with_quoted()
        elif request.trigger not in (Trigger.ADDRESSED, Trigger.REPLY):
            return 1
        return max(count_headlines(request), 1)

    def is_slow(self, request: Request) -> bool:
        """Return whether the answer may take long, so that quick answers do not wait for it."""
        act = self._find_act(request)
        return act is not None and act.slow

    def needs_sign(self, request: Request) -> bool:
        """Return whether to show that an answer is coming: small talk gets one at once or never,
        and what is said in reply is mostly said to others."""
        is_call = request.trigger is Trigger.BUTTON or request.command_call is not None
        if request.unclear and not is_call:
            return request.trigger is Trigger.ADDRESSED
        return is_call or self.count_searches(request) > 0

    def _find_act(self, request: Request) -> Act | None:
        """Return the act of an event, or None if there is no such command or button."""
        if request.trigger is Trigger.BUTTON:
            pressed = self._read_button(request)
            return pressed[0].act_of(pressed[1].name) if pressed else None
        if request.command_call is None:
            return _find_plain_act(request)
        name, text = request.command_call
        command = self._by_name.get(name)
        if command is None:
            return None
        return command.act_on(split_channel(request, text)[1] if command.for_channels else text)

    def _read_button(self, request: Request) -> tuple[Command, Action] | None:
        """Return the command and the action of a button, or None if it is no longer one."""
        action = Action.parse(request.text)
        command = self._by_action.get(action.name) if action else None
        return (command, action) if command and action else None

    async def _press_button(self, request: Request, app: App) -> Reply | None:
        if (pressed := self._read_button(request)) is None:
            return too_old(request)
        command, action = pressed
        effect = command.act_of(action.name).effect
        if refusal := await explain_refusal(
            command.name, effect, request, app.settings.chat.admins
        ):
            return reply_aside(request, refusal)
        answer = await command.actions[action.name](request, action, app)
        if answer is None or isinstance(answer, Reply):
            return answer
        first, *later = answer if isinstance(answer, tuple) else (answer,)
        reply = await self.answer(self.read(first), app)
        # The answer replaces the message of the button, which stands below its question.
        return reply and replace(
            reply, replaces=reply.picture is None, follow_ups=(*reply.follow_ups, *later)
        )

    def words_on(self, platform: str, words: Words) -> Words:
        """Return words that name commands as people type them on the platform."""
        if not traits_of(platform).only_command:
            return words
        return words.naming_commands(partial(self.write_as_typed, platform))

    def write_as_typed(self, platform: str, text: str) -> str:
        """Return a text with its commands written as people type them on the platform."""
        only_command = traits_of(platform).only_command
        return self._shared_names.sub(f"{only_command} ", text) if only_command else text

    def _explain_unknown(self, name: str, request: Request) -> str:
        words, name = request.words, cut(name, _LONGEST_NAME)
        sentences = [words.say("I know no command /{name}.", name=name)]
        if near := self._find_near(fold_case_and_accents(name)):
            suggestion = words.write_commands(f"/{near}")
            sentences.append(words.say("Did you mean {command}?", command=suggestion))
        help_ = words.write_commands("/help")
        sentences.append(words.say("{help} lists all of them.", help=help_))
        return " ".join(sentences)

    def _find_near(self, name: str) -> str:
        """Return the command that a wrong name begins or is like, in English or Spanish, or ""."""
        guesses = {**{known: known for known in self._by_name}, **_IN_SPANISH}
        begun = [guess for guess in guesses if guess.startswith(name)]
        # "foo" is not "foto": words of three letters are like many in another language.
        likely = guesses if len(name) > _LONGEST_PARTICLE else self._by_name
        close = difflib.get_close_matches(name, likely, n=1, cutoff=_SIMILARITY)
        near = begun if len(name) >= _FEWEST_LETTERS and begun else close
        return next((guesses[guess] for guess in near if guesses[guess] in self._by_name), "")


def _find_plain_act(request: Request) -> Act:
    """Return the act of a message that is no command: a hint is no search."""
    if request.brings_archive:
        return LOOKS
    if request.unclear:
        return JUDGED
    answer = request.plain_answer
    searches = request.text and (answer is None or answer.searches)
    return SEARCHES if searches or request.trigger is Trigger.OVERHEARD else LOOKS


def _read_first_word(text: str) -> str:
    """Return the first word in lower case, or "" if there is none."""
    return next(iter(text.lower().split(maxsplit=1)), "")


def is_help(text: str) -> bool:
    """Return whether the argument of a command asks what it can do."""
    return fold_case_and_accents(text) in HELP_WORDS


def too_old(request: Request) -> Reply:
    """Return the reply to a button that is no longer valid."""
    return reply_aside(request, request.words.say("This button is too old."))


async def find_answer(request: Request, action: Action, app: App) -> Answer | None:
    """Return the answer that a button is of, or None if it is gone. Raises StorageError."""
    return await Answers(app.database).get(request.known_chat, action.answer_id or 0)


async def find_page(request: Request, action: Action, app: App) -> Answer | None:
    """Return the page of its answer that a button names, or None. Raises StorageError."""
    answer = await find_answer(request, action, app)
    return answer.page_named(action.value) if answer else None


def nothing_yet(request: Request) -> Reply | None:
    """Return the reply to a request about an answer before there is any; a remark gets none."""
    if request.trigger is Trigger.REPLY:
        return None
    return reply_aside(request, request.words.say("Send me a headline first."))

"""The commands by name, and the way from an event to its answer."""

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from bot.reply import Action, Reply
from bot.request import Request, Trigger
from db.answers import Answers
from db.chats import Chats
from engine.types import Corpus, Headline, Prophecy

# A path such as /r/politics is no command, and neither is "/ 5".
_COMMAND = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)


class Prophesy(Protocol):
    """The main job."""

    async def __call__(
        self, headline: Headline, *, corpus: str, limit: int, now: datetime
    ) -> Prophecy:
        """Return at most `limit` hits. Raises PresagioError."""


class ReadHeadline(Protocol):
    """What a person pasted becomes a headline; a link alone is fetched."""

    async def __call__(self, text: str, *, now: datetime) -> Headline:
        """Return the headline. Raises PresagioError when a page cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the handlers work with."""

    prophesy: Prophesy
    read_headline: ReadHeadline
    corpora: Callable[[], Awaitable[Sequence[Corpus]]]
    chats: Chats
    answers: Answers
    corpus: str  # the configured one; "" = the only one there is
    limit: int  # hits in one answer
    unjudged_coverage: float = 0.5  # lexical share from which an unjudged hit is said unasked
    admins: frozenset[str] = frozenset()  # "platform:user", beside the platform's own admins


Handler = Callable[[Request, Services], Awaitable[Reply | None]]
ActionHandler = Callable[[Request, Action, Services], Awaitable[Reply | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One thing a person can ask for. The handler gets the text after the command."""

    name: str
    aliases: tuple[str, ...] = ()
    summary: str  # an English sentence; translated where it is shown
    usage: str
    example: str
    handler: Handler
    admin: bool = False  # in groups, for admins only
    actions: Mapping[str, ActionHandler] | None = None  # its buttons, by action name

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)


class Registry:
    """All commands; `plain` answers text that is no command."""

    def __init__(self, commands: Sequence[Command], *, plain: Handler) -> None:
        self.commands = tuple(commands)
        self._plain = plain
        self._by_name = {name: command for command in commands for name in command.names}
        if len(self._by_name) != sum(len(command.names) for command in commands):
            raise ValueError("two commands share a name")
        self._actions: dict[str, tuple[Command, ActionHandler]] = {
            name: (command, handler)
            for command in commands
            for name, handler in (command.actions or {}).items()
        }

    async def answer(self, request: Request, services: Services) -> Reply | None:
        """Return the answer to an event; None is silence. Raises PresagioError."""
        if request.trigger is Trigger.BUTTON:
            return await self._pressed(request, services)
        called = _COMMAND.fullmatch(request.text.strip())
        if called is None:
            return await self._plain(request, services)
        name, text = called[1].lower(), (called[2] or "").strip()
        command = self._by_name.get(name)
        if command is None:
            return self._unknown(request, called[1])
        if refusal := await _refused(request, command, services):
            return refusal
        return await command.handler(replace(request, text=text), services)

    async def _pressed(self, request: Request, services: Services) -> Reply | None:
        action = Action.parse(request.text)
        command, handler = self._actions.get(action.name if action else "", (None, None))
        if action is None or command is None or handler is None:
            return _toast(request, request.words.say("This button is too old."))
        if refusal := await _refused(request, command, services):
            return _toast(request, refusal.text or "")
        return await handler(request, action, services)

    def _unknown(self, request: Request, name: str) -> Reply | None:
        if request.trigger is Trigger.OVERHEARD:
            return None
        close = difflib.get_close_matches(name.lower(), self._by_name, n=1)
        said = [request.words.say("I know no command /{name}.", name=name)]
        if close:
            said.append(request.words.say("Did you mean /{name}?", name=close[0]))
        said.append(request.words.say("/help lists all of them."))
        return Reply(words=request.words, text=" ".join(said), ephemeral=True)


async def _refused(request: Request, command: Command, services: Services) -> Reply | None:
    """Only those allowed may steer: anybody in private, else admins."""
    if not command.admin or request.place.private or request.who in services.admins:
        return None
    if await request.is_admin():
        return None
    text = request.words.say("Only admins of this chat may use /{name}.", name=command.name)
    return Reply(words=request.words, text=text, ephemeral=True)


def _toast(request: Request, text: str) -> Reply:
    return Reply(words=request.words, toast=text, ephemeral=True)

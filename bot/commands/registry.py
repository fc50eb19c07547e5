"""The commands by name, and the way from a message to its answer."""

import difflib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from bot.commands.memory import AnswerMemory
from bot.reply import Reply
from engine.errors import PresagioError
from engine.types import Prophecy, require_zone

# A path such as /r/politics is no command, and neither is "/ 5".
_COMMAND = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One message of one person; a face has removed its own name from a command."""

    text: str
    conversation_id: str
    user_id: str
    language: str  # of the person, ISO 639-1
    now: datetime

    def __post_init__(self) -> None:
        require_zone(self.now)


class Prophesy(Protocol):
    """The main job."""

    async def __call__(self, headline: str, *, corpus: str, limit: int, now: datetime) -> Prophecy:
        """Return at most `limit` hits. Raises PresagioError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the handlers work with."""

    prophesy: Prophesy
    memory: AnswerMemory
    corpus: str  # empty = the only one there is
    limit: int  # hits in one answer


Handler = Callable[[Request, Services], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One thing a person can ask for. The handler gets the text after the command."""

    name: str
    aliases: tuple[str, ...] = ()
    summary: str
    usage: str
    example: str
    handler: Handler

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)


class Registry:
    """All commands; the first one answers plain text."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = tuple(commands)
        self._by_name = {name: command for command in commands for name in command.names}
        if len(self._by_name) != sum(len(command.names) for command in commands):
            raise ValueError("two commands share a name")

    async def answer(self, request: Request, services: Services) -> Reply:
        """Return the answer to a message. A PresagioError becomes its one line."""
        text, command = request.text.strip(), self.commands[0]
        if called := _COMMAND.fullmatch(text):
            name, text = called[1], (called[2] or "").strip()
            if name.lower() not in self._by_name:
                return self._unknown(name)
            command = self._by_name[name.lower()]
        try:
            return await command.handler(replace(request, text=text), services)
        except PresagioError as error:
            return Reply(text=str(error), ephemeral=True)

    def _unknown(self, name: str) -> Reply:
        close = difflib.get_close_matches(name.lower(), self._by_name, n=1)
        hint = f"Did you mean /{close[0]}? " if close else ""
        text = f"I know no command /{name}. {hint}/help lists all of them."
        return Reply(text=text, ephemeral=True)

"""`presagio chat`: the conversation in a terminal."""

import os
import sys
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import typer

from bot.app import App
from bot.cli.shared import CorpusName, settings_of, with_app
from bot.commands import standard_commands
from bot.commands.intents import IntentJudge
from bot.console.adapter import PLATFORM, Terminal, read_lines
from bot.console.adapter import run_terminal as talk
from bot.console.screen import Screen
from bot.conversation.conversation import Conversation
from bot.settings import Settings
from db.chat.chats import Chats
from db.chat.events import EventClaims
from db.pool import Database
from engine.budget import BudgetSource
from engine.chat import Chat
from engine.settings import UNLIMITED


def for_owner(settings: Settings, chat: str) -> Settings:
    """Return the settings for a chat with whoever owns the machine: all rights, and no quotas."""
    changes = {"user_daily": UNLIMITED, "chat_daily": UNLIMITED, "buttons_per_minute": UNLIMITED}
    lists = {"access": "open", "allow": (), "block": (), "admins": (chat,), "private": (chat,)}
    return settings.model_copy(
        update={
            "chat": settings.chat.model_copy(update=changes | lists),
            "compose": settings.compose.model_copy(update={"daily": UNLIMITED}),
        }
    )


async def converse(app: App, *, corpus: str, chat_id: str = "console") -> None:
    """Read headlines and commands from the terminal until its input ends.

    With `corpus` "" the chat's own setting applies, else the configured default. Raises
    CorpusNotFound.
    """
    app = replace(app, settings=for_owner(app.settings, f"{PLATFORM}:{chat_id}"))
    if corpus:
        await app.corpora.get(corpus)
        app = replace(app, chats=SessionChats(app.database, corpus))
    async with EventClaims(app.database) as claims:
        commands = standard_commands()
        conversation = Conversation(
            app,
            claims=claims,
            registry=commands,
            doorkeeper=None,
            judge=IntentJudge(app.client) if app.client else None,
            source=BudgetSource.CONSOLE,
        )
        terminal = Terminal(
            session=uuid.uuid4().hex,
            language=terminal_language(os.environ),
            interactive=sys.stdin.isatty() and sys.stdout.isatty(),
            chat_id=chat_id,
        )
        await talk(
            conversation,
            terminal,
            lines=read_lines(sys.stdin.fileno()),
            screen=Screen(sys.stdout),
            now=lambda: datetime.now(UTC),
        )


class SessionChats(Chats):
    """Chats that search one archive for as long as the process runs, unless another is chosen.

    What the command line names is not the chat's choice: the next session would not know why it
    searches there.
    """

    def __init__(self, database: Database, corpus: str) -> None:
        super().__init__(database)
        self._corpus: str | None = corpus

    async def meet(self, *args: Any, **options: Any) -> Chat:
        """Return the chat as it is stored, but for its archive."""
        chat = await super().meet(*args, **options)
        return replace(chat, corpus=self._corpus) if self._corpus else chat

    async def change(self, chat: Chat) -> None:
        """Store the settings of a chat; its archive only if that is another than the session's."""
        if self._corpus and chat.corpus == self._corpus:
            stored = await self.find_chat(chat.platform, chat.external_id)
            chat = replace(chat, corpus=stored.corpus if stored else None)
        else:
            self._corpus = None
        await super().change(chat)


def terminal_language(environment: Mapping[str, str]) -> str:
    """Return the language from the POSIX locale variables: "es" for "es_AR.UTF-8"."""
    named = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return next(filter(None, named), "en").partition("_")[0]


def command(context: typer.Context, corpus: CorpusName = "") -> None:
    """Read headlines from the terminal until input ends.

    Example: presagio chat --corpus demo
    """
    with_app(settings_of(context), lambda opened: converse(opened, corpus=corpus))

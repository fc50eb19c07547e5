"""`presagio chat`: the conversation in a terminal."""

import os
import sys
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import typer

from bot.app import App
from bot.cli.shared import CorpusName, settings_of, with_app
from bot.commands import standard_commands
from bot.commands.rights import Ownership
from bot.console.adapter import PLATFORM, Terminal, read_lines
from bot.console.adapter import run_terminal as talk
from bot.console.screen import Screen
from bot.conversation.conversation import Conversation
from bot.conversation.gates import Gates
from bot.conversation.wiring import chat_services, composing_of, open_news_services, writing_of
from bot.settings.model import ChatSettings
from db.chat.chats import Access, Chats, Quotas
from db.chat.events import EventClaims
from db.pool import Database
from engine.budget import BudgetSource
from engine.chat import Chat

# The user of the terminal owns the machine, so there are no quotas.
_LIMITS = ChatSettings(user_daily=-1, chat_daily=-1, buttons_per_minute=-1)


async def converse(app: App, *, corpus: str, chat_id: str = "console") -> None:
    """Read headlines and commands from the terminal until its input ends.

    With `corpus` "" the chat's own setting applies, else the configured default. Raises
    CorpusNotFound.
    """
    from engine.fetch.client import Fetcher

    chats = Chats(app.database)
    if corpus:
        await app.corpora.get(corpus)
        chats = SessionChats(app.database, corpus)
    async with AsyncExitStack() as stack:
        claims = await stack.enter_async_context(EventClaims(app.database))
        fetcher = await stack.enter_async_context(Fetcher(app.settings.fetch))
        commands = standard_commands()
        gates = Gates(
            chats=chats, quotas=Quotas(app.database), limits=_LIMITS, counts=commands.counts
        )
        news = await stack.enter_async_context(open_news_services(app, fetcher))
        admins = [f"{PLATFORM}:{chat_id}"]
        writing = writing_of(app, claims, admins=admins, source=BudgetSource.CONSOLE)
        services = chat_services(
            app,
            fetcher,
            news,
            limit=app.settings.search.limit,
            admins=admins,
            ownership=Ownership(access=Access(app.database), chats=chats),
            composing=composing_of(app, writing, charge=_for_nothing),
        )
        services = replace(services, stores=replace(services.stores, chats=chats))
        conversation = Conversation(
            gates=gates,
            claims=claims,
            chats=chats,
            commands=commands,
            services=services,
            source=BudgetSource.CONSOLE,
            writing=writing,
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


async def _for_nothing(asker: str, *, now: datetime) -> None:
    """Count nothing: see _LIMITS."""


def terminal_language(environment: Mapping[str, str]) -> str:
    """Return the language from the POSIX locale variables: "es" for "es_AR.UTF-8"."""
    named = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return next(filter(None, named), "en").partition("_")[0]


def command(context: typer.Context, corpus: CorpusName = "") -> None:
    """Read headlines from the terminal until input ends.

    Example: presagio chat --corpus demo
    """
    with_app(settings_of(context), lambda opened: converse(opened, corpus=corpus))

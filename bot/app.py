"""The composition root: opens what a command needs, wires it, and closes it in order."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bot.embedders import Embedders, no_embedder, open_embedders
from bot.engine_settings import (
    answer_settings,
    has_model,
    llm_settings,
    prophecy_settings,
)
from bot.query_log import log_of, logged, source
from bot.settings import Settings
from bot.settings.budgets import budget_of
from db.chat.questions import ModelAnswers
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.corpus.glossary import Groups
from db.embedded.server import EmbeddedServer
from db.model.judgments import Judgments, Ledger
from db.pool import Database, PoolSettings
from db.search.aliased import AliasedSearch, Glossaries
from db.search.described import Described
from db.search.embeddings import Embeddings
from db.search.find import DialectIndex
from engine.answer.answer import Answerer
from engine.chat import Chat
from engine.errors import CorpusNotFound, StorageError
from engine.judge.judge import Judge
from engine.messages import Message
from engine.ports import SearchIndex
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.prophecy.retrieve import Meaning
from engine.ranking.bm25 import Bm25
from engine.search_log import SearchJob, search_logged
from engine.types import Corpus, Filters, Headline, Kind, Mode, Prophecy

# The corpus that `presagio demo` makes, which nobody asks for by chance.
DEMO_CORPUS = "demo"
# What the feeds bring; it is searched only by its name.
NEWS_CORPUS = "news"
# Who names no corpus means tweets where there are some, and chats and notes last.
_PREFERRED = (Kind.TWEETS, Kind.SOCIAL, Kind.PUBLISHED, Kind.LIBRARY, Kind.PERSONAL)

if TYPE_CHECKING:
    from bot.glossary_desk import GlossaryService
    from engine.llm.client import ChatClient

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """Everything that commands work with."""

    settings: Settings
    database: Database
    corpora: Corpora
    documents: Documents
    prophet: Prophet
    index: SearchIndex  # the three that the prophet works with
    judge: Judge | None
    meaning: Meaning | None
    embeddings: Embeddings
    embedders: Embedders
    glossaries: Glossaries
    answerer: Answerer = field(default_factory=Answerer)
    server: EmbeddedServer | None = None  # where the database is not another's

    @property
    def public(self) -> "App":
        """The same for those who may not see what people wrote in private."""
        kinds = frozenset(Kind) - {Kind.PERSONAL}
        return replace(self, corpora=Corpora(self.database, kinds=kinds))

    def shown_to(self, chat: Chat) -> "App":
        """The same with what this chat may see."""
        trusted = f"{chat.platform}:{chat.external_id}" in self.settings.chat.private
        return self if trusted else self.public

    async def corpus(self, name: str, *, without: Collection[str] = ()) -> Corpus:
        """Return the corpus called `name`; "" means the configured one, else the only one.

        Of several kinds the first of `_PREFERRED` counts. The demo corpus does not count
        beside another; that of the news never does, nor do those in `without`. Raises
        CorpusNotFound.
        """
        name = name or self.settings.search.corpus
        if name in without:
            raise CorpusNotFound(
                Message("Corpus {name} is left out by the query itself.", name=name)
            )
        if name:
            return await self.corpora.get(name)
        hidden = {NEWS_CORPUS, *without}
        found = [one for one in await self.corpora.list() if one.name not in hidden]
        own = [corpus for corpus in found if corpus.name != DEMO_CORPUS] or found
        if not found:
            raise CorpusNotFound(
                Message("There is no corpus yet."),
                fix=Message("Load one with: presagio ingest FILE"),
            )
        meant = min((corpus.kind for corpus in own), key=_PREFERRED.index)
        own = [corpus for corpus in own if corpus.kind is meant]
        if len(own) == 1:
            return own[0]
        names = ", ".join(corpus.name for corpus in own)
        raise CorpusNotFound(
            Message("There are several corpora: {names}.", names=names),
            fix=Message("Name one with --corpus, or set search.corpus."),
        )

    async def prophesy(
        self,
        headline: str,
        *,
        corpus: str,
        limit: int,
        now: datetime,
        date: datetime | None = None,
        filters: Filters | None = None,
        judged: bool = True,
        mode: Mode | None = None,
    ) -> Prophecy:
        """Answer what a person wrote. Raises CorpusNotFound and storage errors."""
        asked = read_headline(headline, date=date)
        prophesy = partial(
            self.prophet.prophesy,
            headline=asked,
            limit=limit,
            now=now,
            filters=filters,
            judged=judged,
            mode=mode,
        )
        return await self._logged(asked, corpus, prophesy)

    async def answer(
        self, headline: Headline, *, corpus: str, limit: int, now: datetime
    ) -> Prophecy:
        """Answer a headline that was read already. Raises CorpusNotFound and storage errors."""
        prophesy = partial(self.prophet.prophesy, headline=headline, limit=limit, now=now)
        return await self._logged(headline, corpus, prophesy)

    async def _logged(
        self, headline: Headline, corpus: str, prophesy: Callable[[Corpus], Awaitable[Prophecy]]
    ) -> Prophecy:
        async def answered() -> Prophecy:
            return await prophesy(await self.corpus(corpus))

        return await logged(
            SearchJob.SEARCH,
            headline.text,
            answered(),
            search_logged,
            log=log_of(self.database, self.settings),
            settings=self.settings,
            corpus=corpus,
        )


@asynccontextmanager
async def open_database(
    settings: Settings, *, progress: Callable[[str], None]
) -> AsyncIterator[Database]:
    """Lend the database: the configured one, else the embedded one, started if need be.

    `progress` is told in a sentence what takes time. Raises storage errors.
    """
    async with _open(settings, progress) as (database, _):
        yield database


@asynccontextmanager
async def _open(
    settings: Settings, progress: Callable[[str], None]
) -> AsyncIterator[tuple[Database, EmbeddedServer | None]]:
    async with AsyncExitStack() as stack:
        url, server = settings.database.url.get_secret_value(), None
        if not url:
            server = await stack.enter_async_context(_embedded(settings.data_dir, progress))
            url = server.url()
        database = await Database.open(
            url,
            PoolSettings(
                size=settings.database.pool_size,
                connect_timeout=settings.database.connect_timeout,
                command_timeout=settings.database.command_timeout,
                statement_timeout=settings.database.statement_timeout,
            ),
        )
        stack.push_async_callback(database.close)
        yield database, server


@asynccontextmanager
async def _embedded(
    data_dir: Path, progress: Callable[[str], None]
) -> AsyncIterator[EmbeddedServer]:
    """Lend the embedded server. An error of the block goes before one of the end."""
    server = EmbeddedServer(data_dir, progress=progress)
    try:
        await _to_its_end(server.acquire)
        yield server
    except BaseException:
        with suppress(StorageError):
            await _to_its_end(server.release)
        raise
    await _to_its_end(server.release)


async def _to_its_end(work: Callable[[], None]) -> None:
    """Run blocking work in a thread and return when it has ended, even where this is cancelled:
    a server that was started on the way must be known to whoever stops it."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.gather(thread, return_exceptions=True)
        raise


@asynccontextmanager
async def open_app(
    settings: Settings, *, progress: Callable[[str], None], set_up: bool = False
) -> AsyncIterator[App]:
    """Lend everything. The embedded database is set up on the way; any other must have been,
    unless `set_up` says to do so.

    Raises storage errors, SettingsError.
    """
    async with _open(settings, progress) as (database, server), AsyncExitStack() as stack:
        if set_up or not settings.database.url.get_secret_value():
            await database.migrate()
        else:
            await database.require_current()
        client = chat_client(settings, database)
        if client:
            await stack.enter_async_context(client)
        judge = Judge(client, Judgments(database)) if client else None
        bm25 = Bm25(settings.search.k1, settings.search.b)
        glossaries = Glossaries(database)
        weight = settings.glossary.headline_weight
        search = AliasedSearch(database, glossaries, bm25, weight=weight)
        embeddings = Embeddings(database, exact_up_to=settings.embeddings.exact_up_to)
        embedders = open_embedders(settings, database, stack)
        meaning = embedders and Meaning(
            embedder=embedders, vectors=embeddings, descriptions=Described(database, bm25)
        )
        yield App(
            settings=settings,
            database=database,
            corpora=Corpora(database),
            documents=Documents(database),
            prophet=Prophet(search, judge, prophecy_settings(settings), meaning),
            index=search,
            judge=judge,
            meaning=meaning,
            embeddings=embeddings,
            embedders=embedders or no_embedder,
            glossaries=glossaries,
            answerer=Answerer(answer_settings(settings), client, ModelAnswers(database)),
            server=server,
        )


def chat_client(settings: Settings, database: Database) -> "ChatClient | None":
    """Return who asks the model, to be closed after use; None where there is no model."""
    chosen = llm_settings(settings)
    if not has_model(chosen):
        return None
    # Imported here: a search without a model does not pay for an HTTP client.
    from engine.llm.client import ChatClient  # noqa: PLC0415

    return ChatClient(
        chosen,
        ledger=Ledger(database),
        clock=time.monotonic,
        budget=budget_of(settings),
        source=source,
    )


def glossary_desk(app: App) -> "GlossaryService":
    """Return where the glossary is steered."""
    from bot.glossary_desk import GlossaryService  # noqa: PLC0415 - few commands need it

    chosen = app.settings.glossary
    return GlossaryService(
        groups=Groups(app.database),
        corpora=app.corpora,
        index=DialectIndex(app.database),
        resolve=app.corpus,
        searches=log_of(app.database, app.settings),
        suggest_terms=chosen.suggest_terms,
        approve_sure=chosen.approve_sure,
        approve_unsure=chosen.approve_unsure,
    )

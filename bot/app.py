"""The composition root: opens and wires the services and the database, and closes them in order."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bot.evidence import (
    Embedders,
    LazyWebSearch,
    Rerankers,
    no_embedder,
    open_embedders,
    open_headline_reranker,
    open_passage_rerankers,
    open_web,
)
from bot.query_log import add_prophecy, current_source, log_of, log_search
from bot.settings import Settings
from db.chat.chats import Chats
from db.corpus.corpora import Corpora
from db.embedded.server import EmbeddedServer
from db.logs import LoggedSearch, SearchJob
from db.migrate import check_migrations
from db.pool import Database, PoolSettings
from db.search.aliases import AliasedSearch, Glossaries
from db.search.embeddings import Embeddings
from db.search.lexical import CandidateReader
from engine.corpora import choose_corpora, resolve_corpus
from engine.errors import StorageError, StorageInterrupted, StorageUnreachable
from engine.glossary.groups import fold_terms
from engine.messages import join_messages
from engine.process_pool import ProcessPool
from engine.prophecy.meaning import Meaning
from engine.prophecy.prophecy import Prophet, prophesy_from_all
from engine.search import Prophecy, SearchRequest
from engine.values import Corpus, Kind

if TYPE_CHECKING:
    from bot.adapter import Poster
    from bot.archive_loading import ArchiveLoader
    from engine.answer.answer import Answerer
    from engine.chat import Chat
    from engine.feeds.lookup import FeedLookup
    from engine.fetch.client import Fetcher
    from engine.llm.client import ChatClient
    from engine.posting.retold import StoryComparer
    from engine.prophecy.expand import Expander

_FEED_LOOKUP_SECONDS = 15.0  # short, as somebody waits for the answer
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The settings, the database, and the services on them."""

    settings: Settings
    database: Database
    corpora: Corpora  # those that may be seen
    chats: Chats
    prophet: Prophet
    embeddings: Embeddings
    embedders: Embedders
    glossaries: Glossaries
    isolation: ProcessPool  # for untrusted input: pages of links, lists, pictures
    # The first call opens the service; all return the same one.
    answerer: "Callable[[], Answerer]"
    fetcher: "Callable[[], Fetcher]"  # of links that people send
    feed_lookup: "Callable[[], FeedLookup]"
    client: "ChatClient | None" = None  # of the language model
    comparer: "StoryComparer | None" = None  # of headlines, by that model
    web: LazyWebSearch | None = None  # None without a search provider
    rerankers: Rerankers | None = None  # of passages; None: they are ordered by words alone
    server: EmbeddedServer | None = None  # None for an external database
    # Those of the platforms that are open, by name.
    posters: "Mapping[str, Poster]" = field(default_factory=dict)
    loader: "ArchiveLoader | None" = None  # None where nothing can be loaded from a chat

    @property
    def public(self) -> "App":
        """A copy that hides personal corpora."""
        kinds = frozenset(Kind) - {Kind.PERSONAL}
        return replace(self, corpora=Corpora(self.database, kinds=kinds))

    def shown_to(self, chat: "Chat") -> "App":
        """Return a copy limited to the corpora that this chat may see."""
        return self if self.trusts(chat) else self.public

    def trusts(self, chat: "Chat") -> bool:
        """Return whether this chat may see personal corpora."""
        return chat.key in self.settings.chat.private

    def archive_of(self, chat: "Chat") -> str:
        """Return the name of the archive that the chat searches; "" means the only one."""
        return chat.corpus or self.settings.search.corpus

    async def corpus(
        self, name: str = "", *, kinds: Sequence[Kind] = (), without: Collection[str] = ()
    ) -> Corpus:
        """Return the corpus that `engine.corpora.resolve_corpus` chooses among the visible ones.

        Raises CorpusNotFound, SeveralCorpora, UsageError, StorageError.
        """
        return resolve_corpus(
            await self.corpora.list(),
            name,
            configured=self.settings.search.corpus,
            kinds=kinds,
            without=without,
        )

    async def choose_corpora(self, name: str) -> list[Corpus]:
        """Return the visible corpora that `engine.corpora.choose_corpora` chooses for a name.

        Raises CorpusNotFound, SeveralCorpora, StorageError.
        """
        return choose_corpora(
            await self.corpora.list(), name, configured=self.settings.search.corpus
        )

    async def prophesy(self, request: SearchRequest, *, corpus: str) -> Prophecy:
        """Answer a headline from the corpora of `choose_corpora`, and log the search.

        Raises CorpusNotFound, SeveralCorpora, StorageError.
        """

        async def answer_corpora() -> Prophecy:
            corpora = await self.choose_corpora(corpus)
            return await prophesy_from_all(self.prophet, corpora, request)

        return await self.log_search(
            SearchJob.SEARCH, request.headline.text, answer_corpora(), add_prophecy, corpus=corpus
        )

    async def log_search(
        self,
        job: SearchJob,
        text: str,
        work: Awaitable[_Answer],
        complete: Callable[[LoggedSearch, _Answer], LoggedSearch],
        *,
        corpus: str,
    ) -> _Answer:
        """Await `work`, log it as the settings say, and return the answer.

        `complete` adds to the entry what the answer reports. Raises what `work` raises.
        """
        return await log_search(
            job,
            text,
            work,
            complete,
            log=log_of(self.database, self.settings),
            chat_queries=self.settings.log.chat_queries,
            corpus=corpus,
        )


@asynccontextmanager
async def open_app(
    settings: Settings, *, progress: Callable[[str], None], migrate: bool = False
) -> AsyncIterator[App]:
    """Open the App and close it on exit. The embedded database is migrated first; any other
    database must already be up to date, unless `migrate` is true.

    Raises storage errors, SettingsError.
    """
    async with (
        open_with_server(settings, progress) as (database, server),
        AsyncExitStack() as stack,
    ):
        if migrate or server:
            await migrate_database(settings, database, server, progress)
        else:
            await database.require_current()
        yield await _build_app(settings, database, server, stack)


async def _build_app(
    settings: Settings, database: Database, server: EmbeddedServer | None, stack: AsyncExitStack
) -> App:
    """Return the services on a database; `stack` closes what is opened for them.

    Raises SettingsError.
    """
    glossaries = Glossaries(database, fold_terms(settings.glossary.protected))
    embedders = open_embedders(settings, database, stack)
    client, comparer = None, None
    if settings.has_model():
        client, comparer = await _open_model(settings, database, stack)
    fetcher = cache(partial(_open_fetcher, settings, stack))
    return App(
        settings=settings,
        database=database,
        corpora=Corpora(database),
        chats=Chats(database),
        prophet=_build_prophet(settings, database, glossaries, embedders, client, stack=stack),
        client=client,
        comparer=comparer,
        web=open_web(settings, database, stack),
        rerankers=open_passage_rerankers(settings, database, embedders, stack),
        embeddings=Embeddings(database),
        embedders=embedders or no_embedder,
        glossaries=glossaries,
        isolation=await stack.enter_async_context(ProcessPool()),
        answerer=cache(partial(_build_answerer, settings, client, database)),
        fetcher=fetcher,
        feed_lookup=cache(partial(_open_feed_lookup, fetcher, stack)),
        server=server,
    )


async def _open_model(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> "tuple[ChatClient, StoryComparer]":
    """Open the language model, which `stack` closes. Raises SettingsError.

    The imports are here because a search without a model needs none of them.
    """
    from db.model_cache import Ledger
    from engine.llm.client import ChatClient
    from engine.llm.spending import Account
    from engine.posting.retold import StoryComparer

    client = await stack.enter_async_context(
        ChatClient(
            settings.llm,
            api_key=settings.chat_endpoint().api_key,
            account=Account(Ledger(database), settings.budget, current_source),
            clock=time.monotonic,
        )
    )
    return client, StoryComparer(client)


def _build_prophet(
    settings: Settings,
    database: Database,
    glossaries: Glossaries,
    embedders: Embedders | None,
    client: "ChatClient | None",
    *,
    stack: AsyncExitStack,
) -> Prophet:
    index = AliasedSearch(database, glossaries, weight=settings.glossary.headline_weight)
    descriptions = CandidateReader(database)
    meaning = embedders and Meaning(
        embedder=embedders,
        vectors=Embeddings(database),
        descriptions=descriptions,
        reranker=open_headline_reranker(settings, database, embedders, stack),
    )
    if client is None:
        return Prophet(index, None, settings=settings.prophecy, meaning=meaning)

    from db.model_cache import Judgments
    from engine.judge.judge import Judge
    from engine.prophecy.expand import Phrases

    expander = _open_expander(settings, database, client, stack)
    return Prophet(
        index,
        Judge(client, Judgments(database)),
        settings=settings.prophecy,
        meaning=meaning,
        phrases=Phrases(expander=expander, index=index, descriptions=descriptions),
    )


def _open_expander(
    settings: Settings, database: Database, client: "ChatClient", stack: AsyncExitStack
) -> "Expander":
    from db.model_cache import Expansions
    from engine.llm.client import BREAKER_PAUSE
    from engine.prophecy.expand import LONGEST_ANSWER, LONGEST_CALL, Expander, Punctuality

    seconds = settings.search.expansion_timeout
    small_calls = client.for_small_calls(max(seconds, LONGEST_CALL), longest_answer=LONGEST_ANSWER)
    punctuality = Punctuality(seconds=seconds, pause=BREAKER_PAUSE, clock=time.monotonic)
    expander = Expander(
        small_calls, Expansions(database), punctuality, Corpora(database), clock=time.monotonic
    )
    stack.push_async_callback(expander.aclose)
    return expander


def _build_answerer(
    settings: Settings, client: "ChatClient | None", database: Database
) -> "Answerer":
    """Return the Answerer. A model checks its sentences if `answer.check` is on."""
    from db.model_cache import ModelAnswers
    from engine.answer.answer import Answerer

    checker = None
    if client and settings.answer.check:
        from engine.compose.models import ClaimChecker, ClientModels

        models = ClientModels(client, settings.compose)
        checker = ClaimChecker(models, model=settings.compose.check_model or client.model)
    return Answerer(settings.answer, client, ModelAnswers(database), checker)


def _open_fetcher(settings: Settings, stack: AsyncExitStack) -> "Fetcher":
    from engine.fetch.client import Fetcher

    fetcher = Fetcher(settings.fetch)
    stack.push_async_callback(fetcher.aclose)
    return fetcher


def _open_feed_lookup(fetcher: "Callable[[], Fetcher]", stack: AsyncExitStack) -> "FeedLookup":
    from engine.feeds.lookup import FEED_LIMITS, FeedLookup
    from engine.feeds.read import FeedParser

    parser = FeedParser(workers=1)  # its process starts on first use
    stack.push_async_callback(parser.aclose)
    limits = replace(FEED_LIMITS, seconds=_FEED_LOOKUP_SECONDS)
    return FeedLookup(fetcher=fetcher(), parser=parser, limits=limits)


@asynccontextmanager
async def open_with_server(
    settings: Settings, progress: Callable[[str], None]
) -> AsyncIterator[tuple[Database, EmbeddedServer | None]]:
    """Open the configured database, or the embedded one, which is started if necessary.

    Yield it with its server, which is None for an external database.

    `progress` is called with a sentence before each slow step. Raises storage errors.
    """
    async with AsyncExitStack() as stack:
        url, server = settings.database.url.get_secret_value(), None
        if not url:
            embedded = run_embedded(settings.data_dir, progress)
            server = await stack.enter_async_context(embedded)
            url = server.url()
        seconds = settings.database.command_timeout
        pool = PoolSettings(
            size=settings.database.pool_size, command_timeout=seconds, statement_timeout=seconds
        )
        database = await Database.open(url, pool)
        stack.push_async_callback(database.close)
        yield database, server


async def migrate_database(
    settings: Settings,
    database: Database,
    server: EmbeddedServer | None,
    progress: Callable[[str], None],
) -> list[str]:
    """Run the migrations that are missing and return their names.

    An embedded database is backed up before. Raises storage errors, InputError.
    """
    if server is None:
        return await database.migrate()
    async with database.connection() as connection:
        if not await check_migrations(connection):
            return []
    from db.backup import upgrade_database

    return await upgrade_database(database, settings.data_dir, progress=progress)


@asynccontextmanager
async def run_embedded(
    data_dir: Path, progress: Callable[[str], None]
) -> AsyncIterator[EmbeddedServer]:
    """Run the embedded server. An error in the block takes precedence over one at release."""
    server = EmbeddedServer(data_dir, progress=progress)
    try:
        await _finish_in_thread(server.acquire)
        yield server
    except (StorageInterrupted, StorageUnreachable) as error:
        full = server.diagnose_full_disk()
        with suppress(StorageError):
            await _finish_in_thread(server.release)
        if full:
            full.fix = join_messages(full.fix, error.stored_work)
            raise full from error
        raise
    except BaseException:
        with suppress(StorageError):
            await _finish_in_thread(server.release)
        raise
    await _finish_in_thread(server.release)


async def _finish_in_thread(work: Callable[[], None]) -> None:
    """Run blocking work in a thread and wait for its end, even when cancelled.

    Otherwise a server could start that nobody stops.
    """
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.gather(thread, return_exceptions=True)
        raise

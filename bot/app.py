"""The composition root: opens and wires what a command needs, and closes it in order."""

import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from bot.database import bring_up_to_date, open_with_server
from bot.embedders import Embedders, no_embedder, open_embedders, open_reranker
from bot.evidence import LateWeb, Rerankers, open_rerankers, open_web
from bot.media import close_folders
from bot.query_log import log_of, log_search, source
from bot.settings import Settings
from db.corpus.corpora import Corpora
from db.embedded.server import EmbeddedServer
from db.model_cache import Expansions, Judgments, Ledger, ModelAnswers
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.find import DialectIndex
from db.search.lexical import AliasedSearch, Glossaries
from db.search.shown import Described
from engine.chat import Chat
from engine.corpora import chosen_corpora, resolve_corpus
from engine.glossary.groups import keys
from engine.isolation.process import Isolation
from engine.judge.judge import Judge
from engine.ports import SearchIndex
from engine.prophecy.expand import LONGEST_ANSWER, LONGEST_CALL, Expander, Phrases, Punctuality
from engine.prophecy.prophecy import Judges, Prophet
from engine.prophecy.question import Meaning
from engine.prophecy.together import prophesy_from_all
from engine.search import Prophecy, SearchRequest
from engine.search_log import SearchJob, search_logged
from engine.settings.searching import ProphecySettings
from engine.values import Corpus, Kind

if TYPE_CHECKING:
    from bot.glossary_service import GlossaryService
    from engine.answer.answer import Answerer
    from engine.compose.models import ClaimChecker
    from engine.llm.client import ChatClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """What finds and judges the texts for a headline."""

    index: SearchIndex
    judge: Judges | None = None  # None without a model, and so are the phrases
    meaning: Meaning | None = None
    phrases: Phrases | None = None

    def prophet(self, settings: ProphecySettings) -> Prophet:
        """Return a Prophet that uses it."""
        return Prophet(self.index, self.judge, settings, self.meaning, self.phrases)


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The services that commands use."""

    settings: Settings
    database: Database
    corpora: Corpora
    prophet: Prophet
    retrieval: Retrieval  # of the prophet
    embeddings: Embeddings
    embedders: Embedders
    glossaries: Glossaries
    isolation: Isolation  # for what strangers wrote: pages of links, lists, pictures
    answerer: "Callable[[], Answerer]"  # the same at every call
    client: "ChatClient | None" = None  # of the language model
    web: LateWeb | None = None  # None without a search provider
    rerankers: Rerankers | None = None  # of passages; None: words alone order them
    server: EmbeddedServer | None = None  # None for an external database

    @property
    def public(self) -> "App":
        """A copy that hides personal corpora."""
        kinds = frozenset(Kind) - {Kind.PERSONAL}
        return replace(self, corpora=Corpora(self.database, kinds=kinds))

    def shown_to(self, chat: Chat) -> "App":
        """Return a copy limited to the corpora that this chat may see."""
        return self if self.trusts(chat) else self.public

    def trusts(self, chat: Chat) -> bool:
        """Tell whether this chat may see personal corpora."""
        return f"{chat.platform}:{chat.external_id}" in self.settings.chat.private

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
        """Return the visible corpora that `engine.corpora.chosen_corpora` chooses for a name.

        Raises CorpusNotFound, SeveralCorpora, StorageError.
        """
        return chosen_corpora(
            await self.corpora.list(), name, configured=self.settings.search.corpus
        )

    async def prophesy(self, request: SearchRequest, *, corpus: str) -> Prophecy:
        """Answer a headline from the corpus of that name; "" is the default one, "all" every one.

        Raises CorpusNotFound and storage errors.
        """

        async def answer_corpora() -> Prophecy:
            chosen = await self.choose_corpora(corpus)
            weights = self.prophet.score.weights
            return await prophesy_from_all(self.prophet, chosen, request, weights)

        return await log_search(
            SearchJob.SEARCH,
            request.headline.text,
            answer_corpora(),
            search_logged,
            log=log_of(self.database, self.settings),
            settings=self.settings,
            corpus=corpus,
        )


@asynccontextmanager
async def open_app(
    settings: Settings, *, progress: Callable[[str], None], set_up: bool = False
) -> AsyncIterator[App]:
    """Open the App and close it on exit. The embedded database is migrated first; any other
    database must already be up to date, unless `set_up` is true.

    Raises storage errors, SettingsError.
    """
    close_folders(settings.data_dir)
    async with (
        open_with_server(settings, progress) as (database, server),
        AsyncExitStack() as stack,
    ):
        if set_up or server:
            await bring_up_to_date(settings, database, server, progress)
        else:
            await database.require_current()
        client = chat_client(settings, database)
        if client:
            await stack.enter_async_context(client)
        reasons = settings.llm.reasons
        judge = Judge(client, Judgments(database), reasons=reasons) if client else None
        glossaries = Glossaries(database, keys(settings.glossary.protected))
        weight = settings.glossary.headline_weight
        search = AliasedSearch(database, glossaries, weight=weight)
        embeddings = Embeddings(database)
        embedders = open_embedders(settings, database, stack)
        described = Described(database)
        meaning = embedders and Meaning(
            embedder=embedders,
            vectors=embeddings,
            descriptions=described,
            reranker=open_reranker(settings, database, embedders, stack),
        )
        phrases = None
        if client:
            expander = _expander(settings, client, database)
            stack.push_async_callback(expander.aclose)
            phrases = Phrases(expander=expander, index=search, descriptions=described)
        retrieval = Retrieval(index=search, judge=judge, meaning=meaning, phrases=phrases)
        yield App(
            settings=settings,
            database=database,
            corpora=Corpora(database),
            prophet=retrieval.prophet(settings.prophecy),
            retrieval=retrieval,
            client=client,
            web=open_web(settings, database, stack),
            rerankers=open_rerankers(settings, database, embedders, stack),
            embeddings=embeddings,
            embedders=embedders or no_embedder,
            glossaries=glossaries,
            isolation=await stack.enter_async_context(Isolation()),
            answerer=cache(partial(_build_answerer, settings, client, database)),
            server=server,
        )


def chat_client(settings: Settings, database: Database) -> "ChatClient | None":
    """Return a client of the language model, to be closed after use, or None without a model."""
    endpoint = settings.chat_endpoint()
    if not endpoint.can_be_asked:
        return None
    # Imported here so that a search without a model does not load an HTTP client.
    from engine.llm.client import ChatClient  # noqa: PLC0415 - see above

    return ChatClient(
        settings.llm,
        api_key=endpoint.api_key,
        ledger=Ledger(database),
        clock=time.monotonic,
        budget=settings.budget,
        source=source,
    )


def _build_answerer(
    settings: Settings, client: "ChatClient | None", database: Database
) -> "Answerer":

    from engine.answer.answer import Answerer  # noqa: PLC0415 - no search needs it

    checker = _claim_check(settings, client)
    return Answerer(settings.answer, client, ModelAnswers(database), checker)


def _claim_check(settings: Settings, client: "ChatClient | None") -> "ClaimChecker | None":
    """Return what checks the sentences of answers, or None if the settings want no check."""
    if client is None or not settings.answer.check:
        return None
    from engine.compose.models import (  # noqa: PLC0415 - only where it is wanted
        ClaimChecker,
        ClientModels,
    )

    return ClaimChecker(
        ClientModels(client, settings.compose),
        model=settings.compose.check_model or client.model,
    )


def _expander(settings: Settings, client: "ChatClient", database: Database) -> Expander:
    from engine.llm.client import BREAKER_PAUSE  # noqa: PLC0415 - imported with the client

    seconds, clock = settings.search.expansion_timeout, time.monotonic
    hurried = client.for_small_calls(max(seconds, LONGEST_CALL), longest_answer=LONGEST_ANSWER)
    punctuality = Punctuality(seconds=seconds, pause=BREAKER_PAUSE, clock=clock)
    return Expander(hurried, Expansions(database), punctuality, clock=clock)


def glossary_service(app: App) -> "GlossaryService":
    """Return the service that edits the glossary."""
    from bot.glossary_service import GlossaryService  # noqa: PLC0415 - few commands need it
    from db.corpus.glossary import Groups  # noqa: PLC0415 - as above

    chosen = app.settings.glossary
    return GlossaryService(
        groups=Groups(app.database),
        corpora=app.corpora,
        index=DialectIndex(app.database),
        resolve=app.corpus,
        searches=log_of(app.database, app.settings),
        approve_sure=chosen.approve_sure,
        protected=frozenset(keys(chosen.protected)),
    )

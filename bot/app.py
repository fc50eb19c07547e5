"""The composition root: opens what a command needs, wires it, and closes it in order."""

import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bot.database import open_with_server
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
from db.pool import Database
from db.search.aliased import AliasedSearch, Glossaries
from db.search.described import Described
from db.search.embeddings import Embeddings
from db.search.find import DialectIndex
from engine.answer.answer import Answerer
from engine.chat import Chat
from engine.corpora import resolve_corpus
from engine.judge.judge import Judge
from engine.ports import SearchIndex
from engine.prophecy.prophecy import Prophet
from engine.prophecy.retrieve import Meaning
from engine.ranking.bm25 import Bm25
from engine.search_log import SearchJob, search_logged
from engine.types import Corpus, Kind, Prophecy, SearchRequest

if TYPE_CHECKING:
    from bot.glossary_service import GlossaryService
    from engine.llm.client import ChatClient


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

    async def corpus(
        self, name: str = "", *, kinds: Sequence[Kind] = (), without: Collection[str] = ()
    ) -> Corpus:
        """Return the corpus that `engine.corpora.resolve_corpus` chooses of those one may see.

        Raises CorpusNotFound, SeveralCorpora, UsageError, StorageError.
        """
        return resolve_corpus(
            await self.corpora.list(),
            name,
            configured=self.settings.search.corpus,
            kinds=kinds,
            without=without,
        )

    async def prophesy(self, request: SearchRequest, *, corpus: str) -> Prophecy:
        """Answer a headline from the corpus called so; "" is the usual one.

        Raises CorpusNotFound and storage errors.
        """

        async def answered() -> Prophecy:
            return await self.prophet.prophesy(await self.corpus(corpus), request)

        return await logged(
            SearchJob.SEARCH,
            request.headline.text,
            answered(),
            search_logged,
            log=log_of(self.database, self.settings),
            settings=self.settings,
            corpus=corpus,
        )


@asynccontextmanager
async def open_app(
    settings: Settings, *, progress: Callable[[str], None], set_up: bool = False
) -> AsyncIterator[App]:
    """Lend everything. The embedded database is set up on the way; any other must have been,
    unless `set_up` says to do so.

    Raises storage errors, SettingsError.
    """
    async with (
        open_with_server(settings, progress) as (database, server),
        AsyncExitStack() as stack,
    ):
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
    from engine.llm.client import ChatClient  # noqa: PLC0415 - see above

    return ChatClient(
        chosen,
        ledger=Ledger(database),
        clock=time.monotonic,
        budget=budget_of(settings),
        source=source,
    )


def glossary_service(app: App) -> "GlossaryService":
    """Return where the glossary is steered."""
    from bot.glossary_service import GlossaryService  # noqa: PLC0415 - few commands need it

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

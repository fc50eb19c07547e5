"""Opens what the settings name: embedders, rerankers, and the search of the web.

Models and clients are loaded on first use.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from bot.query_log import current_source
from bot.settings import Settings
from bot.settings.model import Secrets, model_environment, reveal_secret
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.nearest import CorpusVocabulary, SetAside
from engine.budget import Budget
from engine.embed.fill import BATCH, NullEmbedder
from engine.errors import CorpusWithheld, WebSearchError
from engine.llm.endpoint import Consent, endpoint_of
from engine.messages import Message
from engine.ports import Embedder, Reranker
from engine.prophecy.meaning import HeadlineReranker
from engine.settings.models import REMOTE_BATCH
from engine.values import Corpus

if TYPE_CHECKING:
    from engine.embed.local import LocalEmbedder
    from engine.embed.remote import RemoteEmbedder
    from engine.llm.spending import Account
    from engine.web.gather import WebGatherer
    from engine.web.providers import HttpSearch
    from engine.web.results import WebFindings

Rerankers = Callable[[Sequence[Corpus]], Reranker]
Embedders = Callable[[Corpus], Embedder]


def open_web(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> "LazyWebSearch | None":
    """Return the web, or None if no search provider is set up.

    What it needs is opened by its first use and closed by `stack`. Raises SettingsError.
    """
    settings_of_web = settings.web_search
    if not settings_of_web.providers:
        return None
    from engine.web.results import FORMS, searxng_address, usable_key

    for name in settings_of_web.providers:  # now rather than at the first search
        usable_key(FORMS[name], provider_key(settings.secrets, name))
        if name == "searxng":
            searxng_address(settings_of_web)
    return LazyWebSearch(settings, database, stack)


def provider_key(secrets: Secrets, provider: str) -> str | None:
    """Return the key of a search provider, or None if it has none."""
    return reveal_secret(getattr(secrets, f"{provider}_api_key", None))


def search_clients(settings: Settings) -> list["HttpSearch"]:
    """Return the clients of the search providers, in order, to be closed. Raises SettingsError."""
    from engine.web.providers import HttpSearch

    return [
        HttpSearch(name, settings.web_search, key=provider_key(settings.secrets, name))
        for name in dict.fromkeys(settings.web_search.providers)
    ]


class LazyWebSearch:
    """The web, opened when it is first asked: most commands never do."""

    available = True

    def __init__(self, settings: Settings, database: Database, stack: AsyncExitStack) -> None:
        self._settings, self._database, self._stack = settings, database, stack
        self._opening = asyncio.Lock()
        self._opened: WebGatherer | None = None
        self._failed: Callable[[WebSearchError], None] = lambda _: None

    def report_to(self, failed: Callable[[WebSearchError], None]) -> None:
        """Call `failed` with each error of a search provider, whether another one answers or not.

        It is to be called before the web is first asked.
        """
        self._failed = failed

    async def gather(
        self, queries: Sequence[str], *, deadline: float, now: datetime
    ) -> "WebFindings":
        """Search for all queries at once and read the pages found, within `deadline` seconds."""
        async with self._opening:
            if self._opened is None:
                self._opened = await self._open()
        return await self._opened.gather(queries, deadline=deadline, now=now)

    async def _open(self) -> "WebGatherer":
        from db.model_cache import Ledger, WebPages
        from engine.fetch.client import Fetcher
        from engine.llm.spending import Account
        from engine.page.article import ArticleReader
        from engine.web.gather import WebGatherer
        from engine.web.pages import Pages, Robots
        from engine.web.providers import Providers

        settings, clock = self._settings, time.monotonic
        clients = search_clients(settings)
        for client in clients:
            self._stack.push_async_callback(client.aclose)
        fetcher = await self._stack.enter_async_context(Fetcher(settings.fetch))
        reader = await self._stack.enter_async_context(ArticleReader())
        robots = Robots(fetcher, clock=clock)
        cache = WebPages(self._database)
        return WebGatherer(
            Providers(clients, clock=clock, failed=self._failed),
            Pages(fetcher, reader, robots, cache),
            settings.web_search,
            # Searches use no tokens.
            account=Account(
                Ledger(self._database), replace(settings.budget, tokens=None), current_source
            ),
        )


def open_passage_rerankers(
    settings: Settings,
    database: Database,
    embedders: Callable[[Corpus], Embedder] | None,
    stack: AsyncExitStack,
) -> Rerankers:
    """Return a function from the corpora that passages are from to their reranker.

    Passages of a private corpus that the endpoint may not read are ordered on this machine.
    Anything opened is closed by `stack`. Raises SettingsError.
    """
    rerank = settings.rerank
    meaning = rerank.backend != "bm25" and settings.embeddings.backend in {"auto", "local"}

    def local(corpora: Sequence[Corpus]) -> Reranker:
        from engine.rerank import Bm25Reranker, MeaningReranker

        if not meaning or embedders is None or not corpora or not rerank.seconds:
            return Bm25Reranker()
        return MeaningReranker(embedders(corpora[0]), seconds=rerank.seconds)

    if rerank.backend == "cross-encoder":
        from engine.rerank import CrossEncoderReranker

        encoder = CrossEncoderReranker(
            rerank.model,
            set_aside=SetAside(database),
            environment=model_environment(rerank.model, os.environ),
        )
        stack.push_async_callback(encoder.aclose)
        return lambda _: encoder
    if rerank.backend == "remote":
        return _open_remote_rerankers(settings, database, local, stack)
    return local


def _open_remote_rerankers(
    settings: Settings, database: Database, local: Rerankers, stack: AsyncExitStack
) -> Rerankers:
    """Return what reranks by an endpoint, or with `local` what may not be sent there."""
    key = reveal_secret(settings.secrets.rerank_api_key)
    endpoint_of(settings.rerank, key)  # raises SettingsError now
    consent = Consent(
        base_url=settings.rerank.base_url,
        setting="[rerank] private_corpora",
        private_corpora=settings.rerank.private_corpora,
    )

    @cache  # opened on first use
    def open_remote() -> Reranker:
        from engine.rerank import RemoteReranker

        account = _open_account(settings, database)
        remote = RemoteReranker(settings.rerank, api_key=key, account=account, clock=_read_clock)
        stack.push_async_callback(remote.aclose)
        return remote

    def choose(corpora: Sequence[Corpus]) -> Reranker:
        try:
            consent.require(corpora)
        except CorpusWithheld:  # nothing is missing: it is ordered here
            return local(corpora)
        return open_remote()

    return choose


def open_embedders(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> Embedders | None:
    """Return a function from a corpus to its embedder, or None when embeddings are off.

    Anything opened later is closed by `stack`.

    Raises SettingsError.
    """
    embeddings = settings.embeddings
    if embeddings.backend == "tfidf":
        from engine.embed.local import TfidfEmbedder

        vocabulary = CorpusVocabulary(database)
        return lambda corpus: TfidfEmbedder(vocabulary, corpus)
    if embeddings.backend == "remote":
        return _open_remote_embedders(settings, database, stack)
    if embeddings.backend == "null":
        return None
    # This imports no model; the model is loaded with the first text.
    from engine.embed.local import is_installed
    from engine.embed.native import EMBEDDING_LIBRARIES

    exists = not embeddings.model or embeddings.model.partition(":")[0] in EMBEDDING_LIBRARIES
    if embeddings.backend == "auto" and exists and not is_installed(embeddings.model):
        return None
    local = _open_local(settings, database, stack)
    return lambda _: local


def advise_local_model(settings: Settings) -> Message | None:
    """Return how answers that no language model judges become better on this machine, or None."""
    from engine.embed.local import is_installed
    from engine.extras import how_to_install

    embeddings = settings.embeddings
    if (embeddings.backend, settings.search.mode) != ("auto", "auto") or is_installed(
        embeddings.model
    ):
        return None
    return Message(
        "By words alone: a model on this machine leaves out most junk. {how}",
        how=how_to_install("local"),
    )


def _open_local(settings: Settings, database: Database, stack: AsyncExitStack) -> "LocalEmbedder":
    """Return a model on this machine, whose processes `stack` ends. Raises SettingsError."""
    from engine.embed.local import AT_ONCE, LocalEmbedder

    embeddings = settings.embeddings
    local = LocalEmbedder(
        embeddings.model,
        embeddings.prefixes,
        batch=embeddings.batch or AT_ONCE,
        set_aside=SetAside(database),
        environment=model_environment(embeddings.model, os.environ),
    )
    stack.push_async_callback(local.aclose)
    return local


def open_headline_reranker(
    settings: Settings, database: Database, embedders: Embedders | None, stack: AsyncExitStack
) -> HeadlineReranker | None:
    """Return the reranker of the best candidates, or None unless a local model can do it.

    It is closed by `stack`.
    """
    if embedders is None or settings.embeddings.backend not in {"auto", "local"}:
        return None
    reranker = HeadlineReranker(embedders, Embeddings(database), settings.search)
    stack.push_async_callback(reranker.aclose)
    return reranker


def behind_others(embedder: Embedder) -> Embedder:
    """Return the embedder; a local model yields to other work on this machine."""
    from engine.embed.local import LocalEmbedder

    return embedder.in_background if isinstance(embedder, LocalEmbedder) else embedder


def batch_of(settings: Settings) -> int:
    """Return how many texts are embedded and stored per batch: for an endpoint, all at once."""
    embeddings = settings.embeddings
    if embeddings.backend == "remote":
        return max((embeddings.batch or REMOTE_BATCH) * embeddings.at_once, BATCH)
    return max(embeddings.batch, BATCH)


def no_embedder(_: Corpus) -> Embedder:
    """Return the embedder that makes no vectors."""
    return NullEmbedder()


def remote_embedder(settings: Settings, database: Database) -> "RemoteEmbedder":
    """Return the client of the endpoint, to be closed. Raises SettingsError."""
    from engine.embed.remote import RemoteEmbedder

    return RemoteEmbedder(
        settings.embeddings,
        api_key=reveal_secret(settings.secrets.embeddings_api_key),
        account=_open_account(settings, database),
        clock=_read_clock,
    )


def _open_remote_embedders(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> Embedders:
    """Return what embeds by an endpoint, and sends nothing of a corpus that it may not read."""
    # Raises SettingsError now rather than at the first search.
    endpoint_of(settings.embeddings, reveal_secret(settings.secrets.embeddings_api_key))
    consent = Consent(
        base_url=settings.embeddings.base_url,
        setting="[embeddings] private_corpora",
        private_corpora=settings.embeddings.private_corpora,
    )

    @cache  # opened on first use, as searches by words do not need it
    def open_remote() -> "RemoteEmbedder":
        remote = remote_embedder(settings, database)
        stack.push_async_callback(remote.aclose)
        return remote

    def choose(corpus: Corpus) -> Embedder:
        remote = open_remote()
        try:
            consent.require([corpus])
        except CorpusWithheld as refusal:
            from engine.embed.remote import WithheldEmbedder

            return WithheldEmbedder(remote.name, refusal)
        return remote

    return choose


def _open_account(settings: Settings, database: Database) -> "Account":
    """Return the account that embeddings and reranking are paid from."""
    from db.model_cache import Ledger
    from engine.llm.spending import Account

    return Account(Ledger(database), Budget.for_embeddings(settings.llm), current_source)


def _read_clock() -> datetime:
    return datetime.now(UTC)

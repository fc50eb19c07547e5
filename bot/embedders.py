"""Chooses the embedding model from the settings. The model is loaded on first use."""

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.query_log import source
from bot.settings import Settings
from bot.settings.model import model_environment, reveal_secret
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.nearest import CorpusVocabulary, SetAside
from engine.budget import Budget
from engine.embed.fill import BATCH
from engine.embed.native import MINILM
from engine.embed.store import NullEmbedder, WithheldEmbedder
from engine.errors import CorpusWithheld
from engine.llm.endpoint import Consent, embeddings_endpoint
from engine.ports import Embedder
from engine.prophecy.rerank import HeadlineReranker
from engine.settings.models import REMOTE_BATCH
from engine.values import Corpus

if TYPE_CHECKING:
    from engine.embed.local import LocalEmbedder
    from engine.embed.remote import RemoteEmbedder

Embedders = Callable[[Corpus], Embedder]


def open_embedders(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> Embedders | None:
    """Return a function from a corpus to its embedder, or None when embeddings are off.

    Anything opened later is closed by `stack`.

    Raises SettingsError.
    """
    chosen = settings.embeddings
    if chosen.backend == "tfidf":
        from engine.embed.local import TfidfEmbedder

        vocabulary = CorpusVocabulary(database)
        return lambda corpus: TfidfEmbedder(vocabulary, corpus)
    if chosen.backend == "remote":
        return _Remote(settings, database, stack)
    if chosen.backend == "null":
        return None
    # This imports no model; the model is loaded with the first text.
    from engine.embed.local import is_installed

    if chosen.backend == "auto" and not is_installed(chosen.model):
        return None
    local = _open_local(chosen.model, settings, database, stack)
    return lambda _: local


def _open_local(
    model: str, settings: Settings, database: Database, stack: AsyncExitStack
) -> "LocalEmbedder":
    """Return a model on this machine, whose processes `stack` ends. Raises SettingsError."""
    from engine.embed.local import AT_ONCE, LocalEmbedder

    chosen = settings.embeddings
    local = LocalEmbedder(
        model,
        chosen.prefixes,
        batch=chosen.batch or AT_ONCE,
        set_aside=SetAside(database),
        environment=model_environment(model, os.environ),
    )
    stack.push_async_callback(local.aclose)
    return local


def open_reranker(
    settings: Settings,
    database: Database,
    embedders: Embedders | None,
    stack: AsyncExitStack,
) -> HeadlineReranker | None:
    """Return the reranker of the best candidates, or None unless a local model can do it.

    It is closed by `stack`. Unless a model is set, one that reads English alone compares the texts
    of English corpora (docs/decisions/0057-learned-order.md).
    """
    chosen = settings.embeddings
    if embedders is None or chosen.backend not in {"auto", "local"}:
        return None
    from engine.embed.local import is_installed

    choose_embedder = embedders
    if not chosen.model and is_installed(MINILM):
        english = _open_local(MINILM, settings, database, stack)

        def choose_embedder(corpus: Corpus) -> Embedder:
            return english if set(corpus.read_in) == {"english"} else embedders(corpus)

    reranker = HeadlineReranker(choose_embedder, Embeddings(database), settings.search)
    stack.push_async_callback(reranker.aclose)
    return reranker


def behind_others(embedder: Embedder) -> Embedder:
    """Return the embedder; a local model yields to other work on this machine."""
    from engine.embed.local import InBackground, LocalEmbedder

    return InBackground(embedder) if isinstance(embedder, LocalEmbedder) else embedder


def batch_of(settings: Settings) -> int:
    """Return how many texts are embedded and stored per batch: for an endpoint, all at once."""
    chosen = settings.embeddings
    if chosen.backend == "remote":
        return max((chosen.batch or REMOTE_BATCH) * chosen.at_once, BATCH)
    return max(chosen.batch, BATCH)


def no_embedder(_: Corpus) -> Embedder:
    """Return the embedder that makes no vectors."""
    return NullEmbedder()


def remote_embedder(settings: Settings, database: Database) -> "RemoteEmbedder":
    """Return the client of the endpoint, to be closed. Raises SettingsError."""
    from db.model_cache import Ledger
    from engine.embed.remote import RemoteEmbedder

    return RemoteEmbedder(
        settings.embeddings,
        api_key=reveal_secret(settings.secrets.embeddings_api_key),
        ledger=Ledger(database),
        clock=lambda: datetime.now(UTC),
        budget=Budget.for_embeddings(settings.llm),
        source=source,
    )


class _Remote:
    """Opens the client of an endpoint on first use, as searches by words do not need it.

    A corpus that the endpoint may not read gets an embedder that sends nothing.
    """

    def __init__(self, settings: Settings, database: Database, stack: AsyncExitStack) -> None:
        # Raises SettingsError now rather than at the first search.
        embeddings_endpoint(settings.embeddings, reveal_secret(settings.secrets.embeddings_api_key))
        self._settings = settings
        self._consent = Consent(
            base_url=settings.embeddings.base_url,
            setting="[embeddings] private_corpora",
            private_corpora=settings.embeddings.private_corpora,
        )
        self._database = database
        self._stack = stack
        self._opened: RemoteEmbedder | None = None

    def __call__(self, corpus: Corpus) -> Embedder:
        if self._opened is None:
            self._opened = remote_embedder(self._settings, self._database)
            self._stack.push_async_callback(self._opened.aclose)
        try:
            self._consent.require([corpus])
        except CorpusWithheld as refusal:
            return WithheldEmbedder(self._opened.name, refusal)
        return self._opened

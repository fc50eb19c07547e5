"""Which model makes vectors, from the settings: composed here, loaded when it is first needed."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.query_log import source
from bot.settings import Settings
from bot.settings.budgets import embedding_budget
from bot.settings.model import revealed
from db.model.judgments import Ledger
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.vocabulary import CorpusVocabulary
from engine.embed.fill import BATCH
from engine.embed.null import NullEmbedder
from engine.embed.withheld import WithheldEmbedder
from engine.errors import CorpusWithheld
from engine.llm.consent import Consent
from engine.llm.endpoint import embeddings_endpoint
from engine.ports import Embedder
from engine.prophecy.rerank import Reranker
from engine.settings.models import REMOTE_BATCH
from engine.types import Corpus

if TYPE_CHECKING:
    from engine.embed.remote import RemoteEmbedder

Embedders = Callable[[Corpus], Embedder]


def open_embedders(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> Embedders | None:
    """Return who embeds for a corpus, or None when nobody does. `stack` closes what it opens.

    Raises SettingsError.
    """
    chosen = settings.embeddings
    if chosen.backend == "tfidf":
        from engine.embed.tfidf import TfidfEmbedder  # noqa: PLC0415

        vocabulary = CorpusVocabulary(database)
        return lambda corpus: TfidfEmbedder(vocabulary, corpus)
    if chosen.backend == "remote":
        return _Remote(settings, database, stack)
    if chosen.backend == "null":
        return None
    # What follows imports no model: that waits for the first text.
    from engine.embed.local import AT_ONCE, LocalEmbedder, is_installed  # noqa: PLC0415 - for local models

    if chosen.backend == "auto" and not is_installed(chosen.model):
        return None
    local = LocalEmbedder(chosen.model, chosen.prefixes, batch=chosen.batch or AT_ONCE)
    return lambda _: local


def open_reranker(
    settings: Settings, embedders: Embedders | None, embeddings: Embeddings
) -> Reranker | None:
    """Return who compares the best few by meaning: where a model of this machine can."""
    chosen = settings.search
    if embedders is None or settings.embeddings.backend not in {"auto", "local"}:
        return None
    if not chosen.rerank_best:
        return None
    return Reranker(embedders, embeddings, chosen)


def behind_others(embedder: Embedder) -> Embedder:
    """Return the same model, which lets other work of this machine go first where it can."""
    from engine.embed.local import InBackground, LocalEmbedder  # noqa: PLC0415 - for local models

    return InBackground(embedder) if isinstance(embedder, LocalEmbedder) else embedder


def batch_of(settings: Settings) -> int:
    """Return how many texts are embedded and stored together."""
    chosen = settings.embeddings
    asked = chosen.batch or (REMOTE_BATCH if chosen.backend == "remote" else 0)
    return max(asked, BATCH)


def no_embedder(_: Corpus) -> Embedder:
    """Return the one that makes no vectors."""
    return NullEmbedder()


def remote_embedder(settings: Settings, database: Database) -> "RemoteEmbedder":
    """Return the client of the endpoint, to be closed. Raises SettingsError."""
    # Imported here: it brings the HTTP client.
    from engine.embed.remote import RemoteEmbedder  # noqa: PLC0415

    return RemoteEmbedder(
        settings.embeddings,
        api_key=revealed(settings.secrets.embeddings_api_key),
        ledger=Ledger(database),
        clock=lambda: datetime.now(UTC),
        budget=embedding_budget(settings),
        source=source,
    )


class _Remote:
    """Opens the client of an endpoint for the first who asks: searches by words need none.

    Whose corpus the endpoint may not read gets an embedder that sends nothing.
    """

    def __init__(self, settings: Settings, database: Database, stack: AsyncExitStack) -> None:
        # Told now, not when somebody searches.
        embeddings_endpoint(settings.embeddings, revealed(settings.secrets.embeddings_api_key))
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

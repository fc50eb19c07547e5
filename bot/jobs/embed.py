"""Embeds texts that lack vectors, a few at a time while everything else goes on."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.app import App
from bot.embedders import Embedders, batch_of, behind_others
from db.corpus.corpora import Corpora
from db.model_cache import Ledger
from db.search.embeddings import Embeddings
from engine.budget import Budget, BudgetSource, require_budget
from engine.embed.fill import KeepUp
from engine.errors import (
    BudgetExhausted,
    CorpusWithheld,
    EmbeddedElsewhere,
    VectorsUnsupported,
)
from engine.ports import Embedder
from engine.values import Corpus

logger = logging.getLogger("presagio.jobs")

EVERY = 30.0  # seconds
_SECONDS = 10.0  # of these, the most that goes into embedding
_SHARE = 0.5  # of the day's budget; once spending by anyone exceeds it, no paid model embeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The dependencies of the job. `embedders` is None when nothing should be embedded.

    `begins` tells whether the job starts on a corpus without vectors. It does not where texts are
    sent to an endpoint: there, existing vectors show that somebody allowed it.
    `require_budget` raises BudgetExhausted when the model costs money and enough is spent.
    """

    corpora: Corpora
    embedders: Embedders | None
    embeddings: Embeddings
    keep_up: KeepUp
    begins: bool
    require_budget: Callable[[datetime], Awaitable[None]]
    clock: Callable[[], float] = time.monotonic


async def embed_missing(work: Embedding, *, now: datetime) -> int:
    """Embed texts without vectors, smallest corpus first, and return how many were embedded.

    A corpus that may not be read, or that another process is embedding, is skipped. Raises
    ModelError, SettingsError, UsageError and storage errors.
    """
    if work.embedders is None:
        return 0
    until, done = work.clock() + _SECONDS, 0
    begun = await work.embeddings.coverage()
    try:
        for corpus in sorted(await work.corpora.list(), key=lambda known: known.documents):
            embedder = work.embedders(corpus)
            if work.clock() >= until:
                break
            if work.begins or embedder.name in begun.get(corpus.name, {}):
                await work.require_budget(now)
                done += await _embed(work, embedder, corpus, until)
    except (BudgetExhausted, VectorsUnsupported) as error:
        logger.debug("not embedded: %s", error)
    return done


async def _embed(work: Embedding, embedder: Embedder, corpus: Corpus, until: float) -> int:
    try:
        turn = await work.keep_up.turn(behind_others(embedder), corpus, until=until)
    except (CorpusWithheld, EmbeddedElsewhere) as error:
        logger.debug("%s is not embedded: %s", corpus.name, error)
        return 0
    if turn.anew:
        logger.info("The vectors of %s are made anew: its words are other ones now", corpus.name)
    if turn.embedded:
        fields = {"corpus": corpus.name, "texts": turn.embedded, "model": embedder.name}
        logger.info("embedded", extra={"fields": fields})
    return turn.embedded


def embedding_of(app: App) -> Embedding:
    """Return the dependencies of embedding, taken from `app`."""
    settings = app.settings
    remote = settings.embeddings.backend == "remote"
    ledger, half = Ledger(app.database), Budget.for_embeddings(settings.llm).part(_SHARE)

    async def require(now: datetime) -> None:
        if remote:
            spent = await ledger.spent(now.astimezone(UTC).date())
            require_budget(half, spent, BudgetSource.POSTS, now=now)

    return Embedding(
        corpora=app.corpora,
        embedders=app.embedders if settings.embeddings.keep_up else None,
        embeddings=app.embeddings,
        begins=not remote,
        keep_up=KeepUp(app.embeddings, clock=time.monotonic, batch=batch_of(settings)),
        require_budget=require,
    )

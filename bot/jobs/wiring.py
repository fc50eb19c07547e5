"""Wires the jobs: `presagio serve` runs them repeatedly; a cron job may run each of them once."""

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta

from bot.adapter import Poster
from bot.app import App
from bot.evidence import batch_of, behind_others
from bot.feed_service import configured_feeds
from bot.jobs.content import make_drafter
from bot.jobs.deliver import DELIVERY_SECONDS, PostSender
from bot.jobs.digest import decide_due_posts
from bot.jobs.poll import FeedPoller
from bot.jobs.scheduler import Job
from bot.jobs.search import StorySearch
from bot.jobs.troubles import Troubles
from bot.query_log import asked_by
from db.corpus.health import Reindexing
from db.logs import Asker, JobOutcomes, Origin
from db.model_cache import Ledger, WebPages
from db.posting.subscriptions import Stories
from engine.budget import Budget, BudgetSource, require_budget
from engine.embed.fill import KeepUp
from engine.errors import (
    BudgetExhausted,
    CorpusWithheld,
    EmbeddedElsewhere,
    StorageError,
    VectorsUnsupported,
)
from engine.feeds.read import FeedParser
from engine.fetch.client import Fetcher
from engine.ports import Embedder
from engine.values import Corpus
from engine.web.pages import CACHE_BYTES
from engine.web.results import CACHED_FOR

logger = logging.getLogger("presagio.jobs")
# Stories are posted for two days; older ones are kept to know that they were posted.
_STORIES_KEPT = timedelta(days=60)
_FINDS_KEPT = timedelta(days=30)
_HEADLINES_KEPT = timedelta(days=30)
_REINDEX_PAUSE = 0.2  # seconds between two pages, left free for other queries
EVERY = 30.0  # seconds
_SECONDS = 10.0  # of these, the most that goes into embedding
_SHARE = 0.5  # of the day's budget; once spending by anyone exceeds it, no paid model embeds


async def embed_missing(app: App, keep_up: KeepUp, *, now: datetime) -> int:
    """Embed texts without vectors, smallest corpus first, and return how many were embedded.

    A corpus that may not be read, or that another process is embedding, is skipped. Where texts
    are sent to an endpoint, one without vectors is skipped too: existing vectors show that somebody
    allowed it. Raises ModelError, SettingsError, UsageError and storage errors.
    """
    settings = app.settings.embeddings
    if not settings.keep_up:
        return 0
    until, done, remote = time.monotonic() + _SECONDS, 0, settings.backend == "remote"
    begun = await app.embeddings.coverage()
    try:
        for corpus in sorted(await app.corpora.list(), key=lambda corpus: corpus.documents):
            embedder = app.embedders(corpus)
            if time.monotonic() >= until:
                break
            if not remote or embedder.name in begun.get(corpus.name, {}):
                await require_share(app, now)
                done += await _embed_corpus(keep_up, embedder, corpus, until)
    except (BudgetExhausted, VectorsUnsupported) as error:
        logger.debug("not embedded: %s", error)
    return done


async def require_share(app: App, now: datetime) -> None:
    """Raise BudgetExhausted when the model costs money and enough of the day's is spent."""
    if app.settings.embeddings.backend != "remote":
        return
    spent = await Ledger(app.database).spent(now.astimezone(UTC).date())
    share = Budget.for_embeddings(app.settings.llm).part(_SHARE)
    require_budget(share, spent, BudgetSource.POSTS, now=now)


async def _embed_corpus(keep_up: KeepUp, embedder: Embedder, corpus: Corpus, until: float) -> int:
    try:
        turn = await keep_up.turn(behind_others(embedder), corpus, until=until)
    except (CorpusWithheld, EmbeddedElsewhere) as error:
        logger.debug("%s is not embedded: %s", corpus.name, error)
        return 0
    if turn.anew:
        logger.info("The vectors of %s are made anew: its words are other ones now", corpus.name)
    if turn.embedded:
        fields = {"corpus": corpus.name, "texts": turn.embedded, "model": embedder.name}
        logger.info("embedded", extra={"fields": fields})
    return turn.embedded


def open_keep_up(app: App) -> KeepUp:
    """Return what embeds in turns, and keeps its place between them."""
    return KeepUp(app.embeddings, clock=time.monotonic, batch=batch_of(app.settings))


class Jobs:
    """One method per job. Each may be cancelled at any moment and run again; each raises
    StorageError."""

    def __init__(
        self,
        app: App,
        fetcher: Fetcher,
        parser: FeedParser,
        posters: Sequence[Poster],
        *,
        troubles: Troubles,
        now: Callable[[], datetime],
        clock_rate: float = 1.0,
    ) -> None:
        self.poller = FeedPoller(app, fetcher, parser, operators=troubles.operators)
        self.sender = PostSender(
            app,
            posters,
            draft=make_drafter(app, now) if app.client else None,
            report=troubles.report,
            seconds=DELIVERY_SECONDS / clock_rate,
        )
        self.outcomes = JobOutcomes(app.database)
        self.now = now
        self._app = app
        self._story_search = StorySearch(app, report=troubles.report)
        self._keep_up = open_keep_up(app)
        self._clock_rate = clock_rate  # seconds by which `now` advances in one second

    async def poll(self) -> int:
        """Poll the feeds that are due, including those of the settings; return how many."""
        configured = configured_feeds(self._app.settings)
        await self.poller.feeds.configure_feeds(configured, now=self.now())
        return await self.poller.run(clock=self.now)

    async def search(self) -> int:
        """Search new stories and judge those that wait; return how many."""
        with asked_by(Asker(origin=Origin.CONSOLE, task="search", source=BudgetSource.POSTS)):
            return await self._story_search.run(now=self.now())

    async def digest(self) -> int:
        """Decide which posts are due; return how many are owed now."""
        with asked_by(Asker(origin=Origin.CONSOLE, task="digest", source=BudgetSource.POSTS)):
            return await decide_due_posts(self._app, now=self.now())

    async def deliver(self) -> int:
        """Send what may be sent now, one message per chat; return how many were tried."""
        return await self.sender.run(clock=self.now)

    async def embed(self) -> int:
        """Embed some of the texts without vectors; return how many."""
        with asked_by(Asker(origin=Origin.CONSOLE, task="embed", source=BudgetSource.POSTS)):
            return await embed_missing(self._app, self._keep_up, now=self.now())

    async def tidy(self) -> int:
        """Delete what is no longer needed."""
        now, database = self.now(), self._app.database
        days = self._app.settings.polling.keep_days
        await self.poller.news.forget(before=now - timedelta(days=days))
        await self._story_search.finds.forget(before=now - _FINDS_KEPT)
        await Stories(database).forget(before=now - _STORIES_KEPT)
        await self.poller.feeds.forget(before=now - _HEADLINES_KEPT)
        await self.sender.outbox.forget(now=now)
        await self.outcomes.forget(now=now)
        await WebPages(database).forget(before=now - CACHED_FOR, max_bytes=CACHE_BYTES)
        return 1

    async def reindex(self) -> int:
        """Reindex texts that an older version indexed; return how many."""
        return await Reindexing(self._app.database).catch_up(pause=_REINDEX_PAUSE)

    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs as `presagio serve` runs them."""
        second = 1 / self._clock_rate
        return (
            Job(name="poll", work=self.poll, every=15 * second),
            Job(name="search", work=self.search, every=15 * second),
            Job(name="digest", work=self.digest, every=15 * second, timeout=120),
            Job(
                name="deliver",
                work=self.deliver,
                every=second,
                timeout=170,
                leader=False,
                finishes=True,
                counts_idle=False,
            ),
            Job(name="embed", work=self.embed, every=EVERY * second),
            Job(name="tidy", work=self.tidy, every=3600 * second),
            Job(name="reindex", work=self.reindex, every=60 * second, counts_idle=False),
        )


@asynccontextmanager
async def open_jobs(
    app: App,
    fetcher: Fetcher,
    posters: Sequence[Poster],
    *,
    now: Callable[[], datetime],
    clock_rate: float = 1.0,
    troubles: Troubles | None = None,
) -> AsyncIterator[Jobs]:
    """Yield the jobs; the processes that read feeds end with the block.

    A rehearsal whose `now` runs faster than real time passes that rate as `clock_rate`.
    What was reported to `troubles` by the end of the block is stored then.
    """
    async with AsyncExitStack() as stack:
        parser = await stack.enter_async_context(FeedParser())
        troubles = troubles or Troubles(
            app.database,
            platforms=[poster.platform for poster in posters],
            admins=app.settings.chat.admins,
            now=now,
        )
        stack.push_async_callback(_store, troubles)
        yield Jobs(app, fetcher, parser, posters, troubles=troubles, now=now, clock_rate=clock_rate)


async def _store(troubles: Troubles) -> None:
    try:
        await troubles.store()
    except StorageError as error:
        logger.warning("the operators were not told: %s", error)

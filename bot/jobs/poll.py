"""Fetches, reads and settles the feeds that are due; a slow or broken feed delays no other."""

import asyncio
import hashlib
import logging
import random
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from bot.app import App
from bot.jobs.content import FeedNotice, content_to_json
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.posting.feeds import Feeds
from engine.chat import Chat
from engine.corpora import NEWS_CORPUS, Document
from engine.errors import (
    CorpusNotFound,
    FeedUnreadable,
    FetchError,
    PresagioError,
    StorageError,
    explain_error,
)
from engine.feeds.decide import decide_poll, validators_of
from engine.feeds.feed import (
    Decision,
    Feed,
    FeedFailed,
    FeedFailing,
    FeedUnchanged,
    NewHeadline,
    Notice,
    Polled,
    Read,
)
from engine.feeds.lookup import ACCEPT_FEED, FEED_LIMITS
from engine.feeds.read import FeedParser
from engine.fetch import shown_host
from engine.fetch.client import Fetcher
from engine.messages import Message
from engine.posting.delivery import OwedNotice
from engine.text.address import public_address
from engine.text.clean import make_searchable
from engine.values import Corpus, Kind

# Outside the event loop: long feeds take a second.
_WRITING = ThreadPoolExecutor(1, thread_name_prefix="news")
_PER_HOST = 2  # fetches at once
_LANGUAGE = "simple"  # for feeds that state no language
logger = logging.getLogger("presagio.poll")
_LEASE = timedelta(minutes=10)
_CLAIMED = 200  # feeds at once, most of which are waiting for their host
_CLAIM_AGAIN = 50  # once this many are done
# Two thousand long headlines take a second: outside the event loop, one feed at a time.
_DECIDING = ThreadPoolExecutor(1, thread_name_prefix="feed")
_AUTHORITY_ENDS = re.compile(r"[/?#\\]")


class News:
    """Writes the corpus of news, creating it if it is missing."""

    def __init__(self, corpora: Corpora, documents: Documents) -> None:
        self._corpora = corpora
        self._documents = documents
        self._corpus: Corpus | None = None

    async def keep(self, feed: Feed, headlines: Sequence[NewHeadline]) -> None:
        """Store new and changed headlines of a feed that is open to all. Raises StorageError.

        Feeds that a chat added for itself are skipped: they may be private, and everybody
        searches this corpus.
        """
        if not headlines or not feed.configured:
            return
        if self._corpus is None:
            self._corpus = await self._corpora.ensure(
                NEWS_CORPUS, kind=Kind.PUBLISHED, language=_LANGUAGE
            )
        corpus = self._corpus
        documents = await asyncio.get_running_loop().run_in_executor(
            _WRITING, documents_of, feed, headlines
        )
        digests = {name: document.digest for name, document in documents.items()}
        outdated = await self._documents.find_outdated(corpus, digests)
        if outdated:
            await self._documents.upsert(corpus, [documents[name] for name in sorted(outdated)])

    async def forget(self, *, before: datetime) -> int:
        """Remove documents published before `before`; return how many were removed."""
        try:
            corpus = await self._corpora.get(NEWS_CORPUS)
        except CorpusNotFound:  # no feed has brought anything yet
            return 0
        return await self._documents.forget(corpus, before=before)


def documents_of(feed: Feed, headlines: Sequence[NewHeadline]) -> dict[str, Document]:
    """Return the documents of headlines, keyed by their ids at the source."""
    documents = (document_of(feed, headline) for headline in headlines)
    return {document.external_id: document for document in documents}


def document_of(feed: Feed, headline: NewHeadline) -> Document:
    """Return the document of a headline: title and summary, with its link."""
    text = "\n\n".join(part for part in (headline.title, headline.summary) if part)
    written = "\0".join((text, headline.link or "")).encode()
    digest = hashlib.blake2b(written, digest_size=8).digest()
    return Document(
        external_id=headline.link or headline.identity,
        text=text,
        search_text=make_searchable(text),
        created_at=headline.published,
        digest=int.from_bytes(digest, signed=True),
        author=feed.title,
        title=headline.title,
        lang=headline.language,
        url=headline.link,
        tags=(feed.category.casefold(),) if feed.category else (),
    )


async def _list_nobody() -> Sequence[Chat]:
    return ()


class FeedPoller:
    """The job. `operators` returns their private chats, which are told in place of groups."""

    def __init__(
        self,
        app: App,
        fetcher: Fetcher,
        parser: FeedParser,
        *,
        operators: Callable[[], Awaitable[Sequence[Chat]]] = _list_nobody,
    ) -> None:
        self.feeds = Feeds(app.database)
        self.news = News(app.corpora, Documents(app.database))
        self.fetcher = fetcher
        self.parser = parser
        self.settings = app.settings.polling
        self._operators = operators

    async def run(self, *, clock: Callable[[], datetime]) -> int:
        """Poll every feed that is due, and return how many.

        Any error of a single feed is recorded with that feed. On cancellation, feeds that were not
        settled are given back. Raises StorageError, and PresagioError when nothing can be read at
        all.
        """
        return await _Round(self, clock).run()

    async def list_notices(self, decision: Decision) -> Sequence[OwedNotice]:
        """Return the decision's notices for each of the feed's followers in private, and for the
        operators in place of groups. A group without operators is told no details."""
        if not decision.notices:
            return ()
        followers = await self.feeds.followers(decision.feed.id)
        readers: dict[int, tuple[Chat, str | None]] = {
            follower.chat.id: (follower.chat, follower.thread)
            for follower in followers
            if follower.chat.private
        }
        if groups := [follower for follower in followers if not follower.chat.private]:
            operators = await self._operators()
            readers |= {chat.id: (chat, None) for chat in operators if chat.id not in readers}
            readers |= {
                follower.chat.id: (follower.chat, follower.thread)
                for follower in groups
                if not operators
            }
        return [
            OwedNotice(
                chat=chat,
                thread=thread,
                key=_build_key(chat.id, notice),
                content=content_to_json(_build_content(notice, in_full=chat.private)),
            )
            for notice in decision.notices
            for chat, thread in readers.values()
        ]


class _Round:
    """One run: more feeds are claimed as earlier ones finish."""

    def __init__(self, poller: FeedPoller, clock: Callable[[], datetime]) -> None:
        self._poller = poller
        self._clock = clock
        self._connections = asyncio.Semaphore(poller.settings.at_once)
        self._hosts: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_PER_HOST)
        )
        self._under_way: dict[asyncio.Task[None], Feed] = {}
        self._done = self._stories = self._failed = 0
        self._error: PresagioError | None = None

    async def run(self) -> int:
        started = time.perf_counter()
        try:
            while await self._claim_feeds() or self._under_way:
                await self._some_done()
        finally:
            await self._give_back()
            if self._done or self._failed:
                fields = {
                    "feeds": self._done,
                    "stories": self._stories,
                    "failed": self._failed,
                    "seconds": round(time.perf_counter() - started, 1),
                }
                logger.info("polled", extra={"fields": fields})
        if self._error:
            raise self._error
        return self._done

    async def _claim_feeds(self) -> bool:
        """Claim more feeds when there is room for many; return whether there were any."""
        room = _CLAIMED - len(self._under_way)
        if self._under_way and room < _CLAIM_AGAIN:
            return False
        due = await self._poller.feeds.claim_due(now=self._clock(), limit=room, lease=_LEASE)
        for feed in due:
            self._under_way[asyncio.create_task(self._poll(feed))] = feed
        return bool(due)

    async def _some_done(self) -> None:
        """Wait for a feed to finish, with or without an error: it must not hold up the others."""
        done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            feed = self._under_way.pop(task)
            if error := task.exception():  # its lease runs out, and it is tried again
                self._failed += 1
                logger.warning("feed %d was not polled: %s", feed.id, explain_error(error))
                if isinstance(error, PresagioError):
                    self._error = self._error or error
            else:
                self._done += 1

    async def _give_back(self) -> None:
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._under_way:
            await asyncio.shield(self._poller.feeds.release(list(self._under_way.values())))

    async def _poll(self, feed: Feed) -> None:
        outcome = await self._fetch_feed(feed)
        try:
            await self._settle(feed, outcome)
        except Exception as error:
            if _affects_all(error):
                raise
            await self._settle(feed, _note_unforeseen(feed, error))

    async def _settle(self, feed: Feed, outcome: Polled) -> None:
        poller, now = self._poller, self._clock()
        jitter = random.random()  # noqa: S311 - spreads the polls
        decision = await asyncio.get_running_loop().run_in_executor(
            _DECIDING,
            partial(decide_poll, feed, outcome, now=now, settings=poller.settings, jitter=jitter),
        )
        # Before the feed is settled: after a crash in between, the feed is read again.
        await poller.news.keep(decision.feed, decision.headlines)
        notices = await poller.list_notices(decision)
        stories = await poller.feeds.settle(feed, decision, notices=notices, now=now)
        self._stories += len(stories or ())
        self._failed += decision.feed.failing_since is not None
        logger.debug("feed %d: %d new stories", feed.id, len(stories or ()))

    async def _fetch_feed(self, feed: Feed) -> Polled:
        headers = validators_of(feed, now=self._clock())
        try:
            async with AsyncExitStack() as stack:
                # The host first: a task that waits for its host then holds no connection.
                await stack.enter_async_context(self._hosts[_parse_host(feed.url)])
                await stack.enter_async_context(self._connections)
                fetched = await self._poller.fetcher.get(
                    feed.url, limits=FEED_LIMITS, headers={"Accept": ACCEPT_FEED} | headers
                )
            moved = fetched.moved_permanently_to
            if fetched.status == 304:
                return FeedUnchanged(headers=fetched.headers, moved=moved)
            media_type = fetched.headers.get("Content-Type")
            parsed = await self._poller.parser.parse(fetched.body, media_type, fetched.url)
        except FetchError as error:
            return FeedFailed(error=error)
        except Exception as error:
            if _affects_all(error):
                raise
            return _note_unforeseen(feed, error)
        return Read(parsed=parsed, headers=fetched.headers, moved=moved)


def _parse_host(url: str) -> str:
    """Return the host and port of a feed; an address without a host is refused when fetched."""
    return _AUTHORITY_ENDS.split(url.partition("://")[2], maxsplit=1)[0].lower()


def _affects_all(error: Exception) -> bool:
    """Return whether an error affects every feed and not only this one."""
    # A plain StorageError comes from a statement that failed because of what the feed would store.
    return isinstance(error, PresagioError) and type(error) is not StorageError


def _note_unforeseen(feed: Feed, error: Exception) -> FeedFailed:
    logger.error("feed %d: %s", feed.id, explain_error(error))
    message = Message(
        "What {host} sent could not be worked with; the log says why.", host=shown_host(feed.url)
    )
    return FeedFailed(error=FeedUnreadable(message))


def _build_key(chat_id: int, notice: Notice) -> str:
    since = notice.since.isoformat()
    return f"notice:{chat_id}:{notice.feed.id}:{_build_content(notice).state}:{since}"


def _build_content(notice: Notice, *, in_full: bool = False) -> FeedNotice:
    feed, since = notice.feed, notice.since
    name = feed.title or public_address(feed.url)
    if not isinstance(notice, FeedFailing):
        return FeedNotice(feed=name, state="back", since=since)
    state: Literal["gone", "failing"] = "gone" if notice.gone else "failing"
    return FeedNotice(feed=name, state=state, since=since, error=feed.error if in_full else None)

"""New stories are searched: retrieval first, then the model for what promises something."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from db.posting.finds import Finds, Stories
from db.posting.subscriptions import Subscriptions
from engine.errors import CorpusNotFound
from engine.feeds.types import Story
from engine.posting.gate import HITS, PROMISING, promise
from engine.posting.types import FindState, Promising
from engine.types import Corpus, Filters, Headline, Prophecy, SearchRequest

logger = logging.getLogger("presagio.search")

_AT_ONCE = 4
_PAGE = 100
_LOOK_BACK = timedelta(days=2)  # stories that nobody searched for so long are old news
_FAILURES = 3  # of the model in a row, after which the rest waits for the next run


class Prophesies(Protocol):
    """The main job; see engine.prophecy.prophecy.Prophet."""

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Return the best hits. Raises the errors of the search index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """What searching needs.

    `corpus` returns the corpus called so, None the one of chats that name none; it raises
    CorpusNotFound. `may_ask` tells why the model may not be asked at a moment: there is none,
    or the daily budget is spent; None when it may.
    """

    stories: Stories
    finds: Finds
    subscriptions: Subscriptions
    prophet: Prophesies
    corpus: Callable[[str | None], Awaitable[Corpus]]
    may_ask: Callable[[datetime], Awaitable[str | None]]
    minimum_age: timedelta = timedelta(days=30)  # of a tweet, before its story
    promising: float = PROMISING
    judge_within: timedelta = timedelta(hours=3)  # afterwards a story stays unjudged


async def search_stories(work: Searching, *, now: datetime) -> int:
    """Search what is new, then judge what promises something, best first.

    Returns how many stories were searched or judged. Raises StorageError.
    """
    corpora = await _corpora(work)
    searched = [await _search_in(work, corpus, now) for corpus in corpora]
    return sum(searched) + await _judge(work, corpora, now)


async def _corpora(work: Searching) -> list[Corpus]:
    """Return the corpora that some subscriber uses."""
    default = await _corpus(work, None)
    names = await work.subscriptions.corpora(default.name if default else "")
    found = [await _corpus(work, name) for name in names if name]
    return [corpus for corpus in found if corpus]


async def _corpus(work: Searching, name: str | None) -> Corpus | None:
    try:
        return await work.corpus(name)
    except CorpusNotFound as error:
        logger.info("not searched: %s", error)
        return None


async def _search_in(work: Searching, corpus: Corpus, now: datetime) -> int:
    default = await _corpus(work, None)
    done = 0
    while stories := await work.stories.unsearched(
        corpus.name,
        since=now - _LOOK_BACK,
        limit=_PAGE,
        configured=default.name if default else "",
    ):
        await _at_most(_AT_ONCE, (_retrieve(work, corpus, story, now) for story in stories))
        done += len(stories)
    return done


async def _retrieve(work: Searching, corpus: Corpus, story: Story, now: datetime) -> None:
    """Keep what retrieval alone says of a story."""
    prophecy = await _prophesy(work, corpus, story, now, judged=False)
    promised = promise(prophecy)
    dull = promised < work.promising
    await work.finds.keep(
        story,
        corpus.name,
        FindState.DULL if dull else FindState.PROMISING,
        coverage=promised,
        prophecy=None if dull else prophecy,
        now=now,
    )


async def _judge(work: Searching, corpora: Sequence[Corpus], now: datetime) -> int:
    """Ask the model about all that waits for it, best first, while it answers."""
    by_name = {corpus.name: corpus for corpus in corpora}
    waiting = await work.finds.promising(list(by_name), since=now - _LOOK_BACK, limit=_PAGE)
    judging = _Judging(work, now)
    await _at_most(_AT_ONCE, (judging.judge(one, by_name[one.corpus]) for one in waiting))
    return judging.done


class _Judging:
    """One run of judging; stops asking a model that has failed some times in a row."""

    def __init__(self, work: Searching, now: datetime) -> None:
        self._work = work
        self._now = now
        self._failures = 0
        self.done = 0

    async def judge(self, waiting: Promising, corpus: Corpus) -> None:
        work, now = self._work, self._now
        refusal = await work.may_ask(now)
        late = now - waiting.story.first_seen_at > work.judge_within
        if self._failures >= _FAILURES and not (refusal or late):
            return
        ask = refusal is None and self._failures < _FAILURES
        prophecy = await _prophesy(work, corpus, waiting.story, now, judged=ask)
        answered = prophecy.judged or not prophecy.candidates
        withheld = prophecy.verdict.withheld  # no failure, and another run changes nothing
        if ask and not withheld:
            self._failures = 0 if answered else self._failures + 1
        if not answered and not (refusal or late or withheld):
            return  # at the next run
        await work.finds.keep(
            waiting.story,
            corpus.name,
            FindState.JUDGED if answered else FindState.UNJUDGED,
            coverage=waiting.coverage,
            prophecy=prophecy,
            note=None if answered else refusal or prophecy.verdict.notice,
            now=now,
        )
        self.done += 1


async def _prophesy(
    work: Searching, corpus: Corpus, story: Story, now: datetime, *, judged: bool
) -> Prophecy:
    request = SearchRequest(
        headline=Headline(text=story.text, original=story.title, date=story.published),
        limit=HITS,
        now=now,
        filters=Filters(before=story.published - work.minimum_age),
        judged=judged,
        embeds=False,  # hundreds of stories come at once
    )
    return await work.prophet.prophesy(corpus, request)


async def _at_most(number: int, works: Iterable[Awaitable[None]]) -> None:
    """Do the works in their order, so many at once. Raises what the first to fail raised."""
    waiting = iter(works)

    async def worker() -> None:
        for work in waiting:
            await work

    workers = (worker() for _ in range(number))
    for ended in await asyncio.gather(*workers, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended

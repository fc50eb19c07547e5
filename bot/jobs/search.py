"""The job that searches new stories of feeds: first by retrieval, then the best by the model."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.jobs.troubles import ignore
from bot.settings import Settings
from db.model_cache import Ledger
from db.posting.subscriptions import Finds, Stories, Subscriptions
from engine.budget import BudgetSource, posts_in_pace, require_budget
from engine.errors import BudgetExhausted, CorpusNotFound, PresagioError
from engine.feeds.feed import Story
from engine.posting.choose import HITS, PROMISING, WINDOW, measure_promise
from engine.posting.delivery import FindState, Promising
from engine.prophecy.merge import Prophesies
from engine.search import Filters, Headline, Prophecy, SearchRequest
from engine.values import Corpus

logger = logging.getLogger("presagio.search")
_AT_ONCE = 4  # searches
_PAGE = 100  # stories
_LOOK_BACK = timedelta(days=2)  # stories left unsearched for so long are old news
_AGAIN_AFTER = timedelta(minutes=10)  # for stories that a model left unjudged
_REMEMBERED = timedelta(minutes=5)  # that nothing was left to search
_MAX_FAILURES = 3  # of the model in a row; the other stories then wait for the next run


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether the model may be asked: now, later (`waits`), or not at all (`refused`)."""

    refused: bool = False
    waits: bool = False

    @property
    def is_granted(self) -> bool:
        """Whether the model may be asked now."""
        return not (self.refused or self.waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class MayAsk:
    """Tells whether the model may be asked about a story: by the settings and the budget."""

    ledger: Ledger
    settings: Settings
    report: Callable[[PresagioError], None] = ignore  # tells the operators

    async def __call__(self, now: datetime) -> Permission:
        if not self.settings.has_model():
            return Permission(refused=True)
        budget = self.settings.budget
        spent = await self.ledger.spent(now.astimezone(UTC).date())
        try:
            require_budget(budget, spent, BudgetSource.POSTS, now=now)
        except BudgetExhausted as error:
            self.report(error)
            return Permission(refused=True)
        return Permission(waits=not posts_in_pace(budget, spent, now=now))


class Memory:
    """Remembers that no story was left to search, so that idle rounds need not look again.

    `Stories.changes` numbers the changes that may bring stories to search.
    """

    def __init__(self) -> None:
        self.corpora: Sequence[str] = ()  # names of those that have subscribers
        self._last: int | None = None  # change that the last round saw
        self._change: int | None = None  # change up to which nothing was left
        self._until: datetime | None = None
        self._taken_up: datetime | None = None

    def takes_up(self, now: datetime) -> bool:
        """Tell whether the model was not asked for a while about stories it had left unjudged."""
        return self._taken_up is None or now - self._taken_up >= _AGAIN_AFTER

    def note_taken_up(self, now: datetime) -> None:
        """Note that the model is asked about stories it had left unjudged."""
        self._taken_up = now

    def still_holds(self, change: int, now: datetime) -> bool:
        """Tell whether no story can have come since nothing was left."""
        return change == self._change and self._until is not None and now < self._until

    def keep(self, corpora: Sequence[str], change: int, now: datetime, *, anything: bool) -> None:
        """Note the corpora and the change of a round, and whether it searched `anything`."""
        self.corpora = corpora
        # A change may become visible a little after its number: a second round has to see nothing.
        settled = not anything and change == self._last
        self._last, self._change = change, change if settled else None
        self._until = now + _REMEMBERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """The dependencies of the job.

    `corpus` returns the corpus of a name, or for None that of chats which name none; it raises
    CorpusNotFound. `may_ask` tells whether the model may be asked at a given time.
    """

    stories: Stories
    finds: Finds
    subscriptions: Subscriptions
    prophet: Prophesies
    corpus: Callable[[str | None], Awaitable[Corpus]]
    may_ask: Callable[[datetime], Awaitable[Permission]]
    minimum_age: timedelta = timedelta(days=30)  # by which a tweet must precede its story
    judge_within: timedelta = timedelta(hours=3)  # later a story may be posted unjudged
    memory: Memory = field(default_factory=Memory)


async def search_stories(work: Searching, *, now: datetime) -> int:
    """Search new stories, then judge waiting ones within the budget, most promising first.

    Returns how many stories were searched or judged. Raises StorageError.
    """
    searched, memory = 0, work.memory
    change = await work.stories.changes()
    if not memory.still_holds(change, now):
        default = await _find_known_corpus(work, None)
        configured = default.name if default else ""
        names = [name for name in await work.subscriptions.corpora(configured) if name]
        searched = sum([await _search_in(work, name, configured, now) for name in names])
        memory.keep(names, change, now, anything=searched > 0)
    judged = await _judge_waiting(work, memory.corpora, now)
    if searched or judged:
        fields = {"stories": searched, "judged": judged, "corpora": len(memory.corpora)}
        logger.info("searched", extra={"fields": fields})
    return searched + judged


async def _find_known_corpus(work: Searching, name: str | None) -> Corpus | None:
    """Return the corpus of a name, or None if there is none."""
    try:
        return await work.corpus(name)
    except CorpusNotFound as error:
        logger.debug("not searched: %s", error)
        return None


async def _search_in(work: Searching, name: str, configured: str, now: datetime) -> int:
    """Search a corpus for its new stories, page by page, and return how many there were."""
    searched, since = 0, now - _LOOK_BACK
    while stories := await work.stories.find_unsearched(
        name, since=since, limit=_PAGE, configured=configured
    ):
        corpus = await _find_known_corpus(work, name)
        if corpus is None:
            break
        await _await_some(_retrieve(work, corpus, story, now) for story in stories)
        searched += len(stories)
    return searched


async def _retrieve(work: Searching, corpus: Corpus, story: Story, now: datetime) -> None:
    """Search for a story by retrieval alone, and store how much its best text promises."""
    prophecy = await _prophesy(work, corpus, story, now, judged=False)
    state = FindState.PROMISING if prophecy.candidates else FindState.DULL
    await work.finds.keep(story, corpus.name, state, coverage=measure_promise(prophecy), now=now)


async def _judge_waiting(work: Searching, names: Sequence[str], now: datetime) -> int:
    """Ask the model about stories that can still be posted, best first, as long as it answers."""
    since = now - WINDOW
    await work.finds.give_up(found_before=since, below=PROMISING)
    judging = _Judging(work, now)
    waiting = await work.finds.find_promising(names, since=since, limit=_PAGE)
    unjudged = await judging.list_unjudged(names, since=since)
    corpora = {
        name: await _find_known_corpus(work, name)
        for name in {find.corpus for find in (*waiting, *unjudged)}
    }
    steps = sorted(
        [(judging.judge, find) for find in waiting]
        + [(judging.take_up, find) for find in unjudged],
        key=lambda step: -step[1].coverage,
    )
    await _await_some(
        judge(find, corpus) for judge, find in steps if (corpus := corpora[find.corpus])
    )
    return judging.done


class _Judging:
    """One run of judging; stops asking a model that failed several times in a row."""

    def __init__(self, work: Searching, now: datetime) -> None:
        self._work = work
        self._now = now
        self._failures = 0
        self._denied: Permission | None = None  # once it was, it is not asked for again
        self.done = 0

    async def judge(self, waiting: Promising, corpus: Corpus) -> None:
        """Judge one story, or if it is too late for that, store that it may be posted unjudged."""
        permission = await self._ask_permission()
        late = self._now - waiting.story.first_seen_at > self._work.judge_within
        final = late or permission.refused
        if permission.is_granted and self._failures < _MAX_FAILURES:
            await self._judge_story(waiting, corpus, final=final)
        elif final and waiting.coverage >= PROMISING:
            unjudged = await _prophesy(self._work, corpus, waiting.story, self._now, judged=False)
            await self._keep_find(waiting, FindState.UNJUDGED, unjudged)

    async def take_up(self, unjudged: Promising, corpus: Corpus) -> None:
        """Judge a story that was left unjudged, if the model may be asked again."""
        if (await self._ask_permission()).is_granted and self._failures < _MAX_FAILURES:
            await self._judge_story(unjudged, corpus, final=False)

    async def list_unjudged(self, names: Sequence[str], *, since: datetime) -> list[Promising]:
        """Return the stories since `since` that were left unjudged, if it is time to take them up
        and the model may be asked."""
        if not self._work.memory.takes_up(self._now):
            return []
        finds = await self._work.finds.find_unjudged(names, since=since, limit=_PAGE)
        unjudged = [find for find in finds if find.story.first_seen_at >= since]
        if not unjudged or not (await self._ask_permission()).is_granted:
            return []
        self._work.memory.note_taken_up(self._now)
        return unjudged

    async def _ask_permission(self) -> Permission:
        """Return whether the model may be asked. Once denied, it stays so for the run."""
        if self._denied:
            return self._denied
        permission = await self._work.may_ask(self._now)
        if not permission.is_granted:
            self._denied = permission
        return permission

    async def _judge_story(self, waiting: Promising, corpus: Corpus, *, final: bool) -> None:
        """Ask the model about a story. If it does not judge and that is `final`, store the story
        as unjudged; else the next run asks again."""
        prophecy = await _prophesy(self._work, corpus, waiting.story, self._now, judged=True)
        # The model may not read this corpus: no failure, and another run would change nothing.
        withheld = prophecy.verdict.withheld
        if prophecy.judged or not prophecy.candidates:
            self._failures = 0
            await self._keep_find(waiting, FindState.JUDGED, prophecy)
            return
        if not withheld:
            self._failures += 1
        if waiting.coverage < PROMISING:
            if withheld:
                await self._keep_find(waiting, FindState.DULL, None)
        elif final or withheld:
            await self._keep_find(waiting, FindState.UNJUDGED, prophecy)

    async def _keep_find(
        self, waiting: Promising, state: FindState, prophecy: Prophecy | None
    ) -> None:
        story, corpus, coverage = waiting
        await self._work.finds.keep(
            story, corpus, state, coverage=coverage, prophecy=prophecy, now=self._now
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
        embeds=False,  # hundreds of stories arrive at once
    )
    return await work.prophet.prophesy(corpus, request)


async def _await_some(tasks: Iterable[Awaitable[None]]) -> None:
    """Await the tasks in order, a few at a time. Raises an error of those that failed."""
    remaining = iter(tasks)

    async def worker() -> None:
        for task in remaining:  # shared by the workers: each takes the next
            await task

    workers = (worker() for _ in range(_AT_ONCE))
    # All workers end before an error is raised, so that none works on after the run.
    for error in await asyncio.gather(*workers, return_exceptions=True):
        if isinstance(error, BaseException):
            raise error

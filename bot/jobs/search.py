"""The job that searches new stories of feeds: first by retrieval, then the best by the model."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum

from bot.app import App
from bot.jobs.troubles import ignore
from db.model_cache import Ledger
from db.posting.subscriptions import Finds, Stories, Subscriptions
from engine.budget import BudgetSource, posts_in_pace, require_budget
from engine.corpora import choose_default_corpus
from engine.errors import BudgetExhausted, CorpusNotFound, PresagioError
from engine.feeds.feed import Story
from engine.posting.choose import LEAST_PROMISE, PROMISE_HITS, WINDOW, measure_promise
from engine.posting.delivery import FindState, Promising
from engine.search import Filters, Headline, Prophecy, SearchRequest
from engine.values import Corpus

logger = logging.getLogger("presagio.search")
_SEARCHES_AT_ONCE = 4
_PAGE = 100  # stories
_LOOK_BACK = timedelta(days=2)  # stories left unsearched for so long are old news
_AGAIN_AFTER = timedelta(minutes=10)  # for stories that a model left unjudged
_JUDGE_WITHIN = timedelta(hours=3)  # later a story may be posted unjudged
_IDLE_PAUSE = timedelta(minutes=5)  # nothing is read in it once nothing was left to search
_MAX_FAILURES = 3  # of the model in a row; the other stories then wait for the next run


class Permission(Enum):
    """Whether the model may be asked: now, later, or not at all."""

    GRANTED = "granted"
    WAITS = "waits"
    REFUSED = "refused"


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
        """Return whether the model was not asked for a while about stories it had left unjudged."""
        return self._taken_up is None or now - self._taken_up >= _AGAIN_AFTER

    def note_taken_up(self, now: datetime) -> None:
        """Note that the model is asked about stories it had left unjudged."""
        self._taken_up = now

    def still_holds(self, change: int, now: datetime) -> bool:
        """Return whether no story can have come since nothing was left."""
        return change == self._change and self._until is not None and now < self._until

    def keep(self, corpora: Sequence[str], change: int, now: datetime, *, anything: bool) -> None:
        """Note the corpora and the change of a round, and whether it searched `anything`."""
        self.corpora = corpora
        # A change may become visible a little after its number: a second round has to see nothing.
        settled = not anything and change == self._last
        self._last, self._change = change, change if settled else None
        self._until = now + _IDLE_PAUSE


class StorySearch:
    """The job. `report` tells the operators."""

    def __init__(self, app: App, *, report: Callable[[PresagioError], None] = ignore) -> None:
        self.finds = Finds(app.database)
        self._app = app
        self._report = report
        self._stories = Stories(app.database)
        self._subscriptions = Subscriptions(app.database)
        self._ledger = Ledger(app.database)
        self._minimum_age = timedelta(days=app.settings.posting.minimum_age_days)
        self.memory = Memory()

    async def run(self, *, now: datetime) -> int:
        """Search new stories, then judge waiting ones within the budget, most promising first.

        Returns how many stories were searched or judged. Raises StorageError.
        """
        searched, memory = 0, self.memory
        change = await self._stories.changes()
        if not memory.still_holds(change, now):
            default = await self._find_corpus(None)
            configured = default.name if default else ""
            names = [name for name in await self._subscriptions.corpora(configured) if name]
            searched = sum([await self._search_in(name, configured, now) for name in names])
            memory.keep(names, change, now, anything=searched > 0)
        judged = await self._judge_waiting(memory.corpora, now)
        if searched or judged:
            fields = {"stories": searched, "judged": judged, "corpora": len(memory.corpora)}
            logger.info("searched", extra={"fields": fields})
        return searched + judged

    async def may_ask(self, now: datetime) -> Permission:
        """Return whether the model may be asked, by the settings and the budget."""
        settings = self._app.settings
        if not settings.has_model():
            return Permission.REFUSED
        spent = await self._ledger.spent(now.astimezone(UTC).date())
        try:
            require_budget(settings.budget, spent, BudgetSource.POSTS, now=now)
        except BudgetExhausted as error:
            self._report(error)
            return Permission.REFUSED
        in_pace = posts_in_pace(settings.budget, spent, now=now)
        return Permission.GRANTED if in_pace else Permission.WAITS

    async def _find_corpus(self, name: str | None) -> Corpus | None:
        """Return the corpus of a name, or that of chats which name none; None if there is none."""
        app = self._app
        try:
            if name:
                return await app.corpus(name)
            public = await app.public.corpora.list()
            return choose_default_corpus(public, configured=app.settings.search.corpus)
        except CorpusNotFound as error:
            logger.debug("not searched: %s", error)
            return None

    async def _search_in(self, name: str, configured: str, now: datetime) -> int:
        """Search a corpus for its new stories, page by page, and return how many there were."""
        searched, since = 0, now - _LOOK_BACK
        while stories := await self._stories.find_unsearched(
            name, since=since, limit=_PAGE, configured=configured
        ):
            corpus = await self._find_corpus(name)
            if corpus is None:
                break
            await _await_some(self._retrieve(corpus, story, now) for story in stories)
            searched += len(stories)
        return searched

    async def _retrieve(self, corpus: Corpus, story: Story, now: datetime) -> None:
        """Search for a story by retrieval alone, and store how much its best text promises."""
        prophecy = await self.prophesy(corpus, story, now, judged=False)
        state = FindState.PROMISING if prophecy.candidates else FindState.DULL
        coverage = measure_promise(prophecy)
        await self.finds.keep(story, corpus.name, state, coverage=coverage, now=now)

    async def _judge_waiting(self, names: Sequence[str], now: datetime) -> int:
        """Ask the model about stories that can still be posted, best first, while it answers."""
        since = now - WINDOW
        await self.finds.give_up(found_before=since, below=LEAST_PROMISE)
        judging = _Judging(self, now)
        waiting = await self.finds.find_waiting(
            FindState.PROMISING, names, since=since, limit=_PAGE
        )
        unjudged = await judging.list_unjudged(names, since=since)
        corpora = {
            name: await self._find_corpus(name)
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

    async def prophesy(
        self, corpus: Corpus, story: Story, now: datetime, *, judged: bool
    ) -> Prophecy:
        """Answer a story from the texts of a corpus that are old enough."""
        request = SearchRequest(
            headline=Headline(text=story.text, original=story.title, date=story.published),
            limit=PROMISE_HITS,
            now=now,
            filters=Filters(before=story.published - self._minimum_age),
            judged=judged,
            embeds=False,  # hundreds of stories arrive at once
        )
        return await self._app.prophet.prophesy(corpus, request)


class _Judging:
    """One run of judging; stops asking a model that failed several times in a row."""

    def __init__(self, search: StorySearch, now: datetime) -> None:
        self._search = search
        self._now = now
        self._failures = 0
        self._permission = Permission.GRANTED  # once denied, it is not asked for again
        self.done = 0

    async def judge(self, waiting: Promising, corpus: Corpus) -> None:
        """Judge one story, or if it is too late for that, store that it may be posted unjudged."""
        may_ask = await self._may_ask()
        late = self._now - waiting.story.first_seen_at > _JUDGE_WITHIN
        final = late or self._permission is Permission.REFUSED
        if may_ask and self._failures < _MAX_FAILURES:
            await self._judge_story(waiting, corpus, final=final)
        elif final and waiting.coverage >= LEAST_PROMISE:
            unjudged = await self._search.prophesy(corpus, waiting.story, self._now, judged=False)
            await self._keep_find(waiting, FindState.UNJUDGED, unjudged)

    async def take_up(self, unjudged: Promising, corpus: Corpus) -> None:
        """Judge a story that was left unjudged, if the model may be asked again."""
        if await self._may_ask() and self._failures < _MAX_FAILURES:
            await self._judge_story(unjudged, corpus, final=False)

    async def list_unjudged(self, names: Sequence[str], *, since: datetime) -> list[Promising]:
        """Return the stories since `since` that were left unjudged, if it is time to take them up
        and the model may be asked."""
        if not self._search.memory.takes_up(self._now):
            return []
        finds = await self._search.finds.find_waiting(
            FindState.UNJUDGED, names, since=since, limit=_PAGE
        )
        unjudged = [find for find in finds if find.story.first_seen_at >= since]
        if not unjudged or not await self._may_ask():
            return []
        self._search.memory.note_taken_up(self._now)
        return unjudged

    async def _may_ask(self) -> bool:
        """Return whether the model may be asked. Once denied, it stays so for the run."""
        if self._permission is Permission.GRANTED:
            self._permission = await self._search.may_ask(self._now)
        return self._permission is Permission.GRANTED

    async def _judge_story(self, waiting: Promising, corpus: Corpus, *, final: bool) -> None:
        """Ask the model about a story. If it does not judge and that is `final`, store the story
        as unjudged; else the next run asks again."""
        prophecy = await self._search.prophesy(corpus, waiting.story, self._now, judged=True)
        # The model may not read this corpus: no failure, and another run would change nothing.
        withheld = prophecy.verdict.withheld
        if prophecy.judged or not prophecy.candidates:
            self._failures = 0
            await self._keep_find(waiting, FindState.JUDGED, prophecy)
            return
        self._failures += not withheld
        if waiting.coverage >= LEAST_PROMISE and (final or withheld):
            await self._keep_find(waiting, FindState.UNJUDGED, prophecy)
        elif withheld:
            await self._keep_find(waiting, FindState.DULL, None)

    async def _keep_find(
        self, waiting: Promising, state: FindState, prophecy: Prophecy | None
    ) -> None:
        story, corpus, coverage = waiting
        await self._search.finds.keep(
            story, corpus, state, coverage=coverage, prophecy=prophecy, now=self._now
        )
        self.done += 1


async def _await_some(tasks: Iterable[Awaitable[None]]) -> None:
    """Await the tasks in order, a few at a time. Raises an error of those that failed."""
    remaining = iter(tasks)

    async def worker() -> None:
        for task in remaining:  # shared by the workers: each takes the next
            await task

    workers = (worker() for _ in range(_SEARCHES_AT_ONCE))
    # All workers end before an error is raised, so that none works on after the run.
    for error in await asyncio.gather(*workers, return_exceptions=True):
        if isinstance(error, BaseException):
            raise error

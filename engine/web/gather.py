"""Searches the web for several queries at once, and reads the pages found."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import zip_longest

from engine.budget import BudgetSource, PlannedCall
from engine.errors import BudgetExhausted, PresagioError, StorageError
from engine.fetch import shown_host
from engine.llm.spending import Account
from engine.messages import Message
from engine.settings.fetching import WebSearchSettings
from engine.text.address import link_key
from engine.values import Usage
from engine.web.pages import Pages
from engine.web.providers import Providers, SearchOutcome
from engine.web.results import WebFindings, WebPage, WebResult

PURPOSE = "web search"
RESULTS = 5  # that each query asks for
_MAX_QUERIES = 8
_SEARCHING = 0.6  # the most of the time that searches may take
_ENOUGH_TEXT = 200  # characters from a provider that make fetching the page unnecessary
_MARGIN = 60.0  # seconds that a process may need to record what it spent


@dataclass(frozen=True, slots=True)
class _Target:
    """A page to read: the query that found it first, its rank there, and the result."""

    query: int
    rank: int
    result: WebResult


@dataclass(slots=True)
class _Progress:
    """What has been found so far; complete or not, it is told when the time is over."""

    searched: dict[int, SearchOutcome] = field(default_factory=dict)  # by the number of the query
    pages: dict[tuple[int, int], WebPage] = field(default_factory=dict)  # by query and rank
    fetched: int = 0
    cached: int = 0
    notices: list[Message] = field(default_factory=list)


class WebGatherer:
    """Implements engine.web.results.Web. Searches are paid from `account`."""

    def __init__(
        self,
        providers: Providers,
        pages: Pages,
        settings: WebSearchSettings,
        *,
        account: Account,
        results: int = RESULTS,
    ) -> None:
        self._results = results
        self._providers, self._pages = providers, pages
        self._settings = settings
        self._account = account

    @property
    def available(self) -> bool:
        """Whether a provider is set up."""
        return self._providers.available

    async def gather(
        self, queries: Sequence[str], *, deadline: float, now: datetime
    ) -> WebFindings:
        """Search for all queries at once and read the pages found, within `deadline` seconds.

        What a provider or a page does wrong is told in the notices, and so is a spent budget.
        Raises storage errors.
        """
        texts = list(dict.fromkeys(" ".join(query.split()) for query in queries))
        texts = [query for query in texts if query][:_MAX_QUERIES]
        if not texts or not self.available:
            return WebFindings()
        prices = [self._settings.usd.get(name, 0.0) for name in self._providers.names]
        planned = PlannedCall(
            source=self._account.source(),
            cost_usd=len(texts) * max(prices, default=0.0),
            until=now + timedelta(seconds=deadline + _MARGIN),
        )
        progress = _Progress()
        try:
            async with self._account.hold(planned, now=now):
                await self._search_and_read(texts, progress, deadline, planned.source, now)
        except BudgetExhausted as error:
            return WebFindings(notices=(error.full_message,))
        return _build_findings(progress)

    async def _search_and_read(
        self,
        queries: Sequence[str],
        progress: _Progress,
        deadline: float,
        source: BudgetSource,
        now: datetime,
    ) -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + deadline
        await _run_jobs(
            clock() + deadline * _SEARCHING,
            [
                self._search_web(number, query, progress, source, now)
                for number, query in enumerate(queries)
            ],
        )
        if late := len(queries) - len(progress.searched):
            progress.notices.append(
                Message("{late} of {all} searches took too long.", late=late, all=len(queries))
            )
        targets = choose_pages(
            [progress.searched[index].results for index in sorted(progress.searched)],
            sorted(progress.searched),
            maximum=self._settings.pages,
        )
        ended = await _run_jobs(
            until, [self._read_page(target, queries, progress, now) for target in targets]
        )
        if late := len(targets) - ended:
            progress.notices.append(
                Message("{late} of {all} pages took too long.", late=late, all=len(targets))
            )
        if progress.fetched:
            await self._pages.tidy(now=now)

    async def _search_web(
        self, number: int, query: str, progress: _Progress, source: BudgetSource, now: datetime
    ) -> None:
        results = await self._providers.search(query, limit=self._results, now=now)
        progress.searched[number] = results
        if results.provider:
            await self._account.ledger.record(
                Usage(cost_usd=results.cost_usd),
                model=results.provider,
                purpose=PURPOSE,
                source=source,
                now=now,
            )

    async def _read_page(
        self, target: _Target, queries: Sequence[str], progress: _Progress, now: datetime
    ) -> None:
        result, query, place = target.result, queries[target.query], (target.query, target.rank)
        if result.text and len(result.text) >= _ENOUGH_TEXT:
            progress.pages[place] = WebPage(
                url=result.url,
                title=result.title or shown_host(result.url),
                text=result.text,
                date=result.date,
                query=query,
            )
            return
        try:
            read = await self._pages.read(result.url, now=now)
        except StorageError:
            raise
        except PresagioError as error:
            # What to do about it is meant for people who pasted a link.
            progress.notices.append(error.message)
            return
        page = read.page
        progress.cached += read.cached
        progress.fetched += not read.cached
        progress.pages[place] = WebPage(
            url=page.url,
            title=page.title or result.title or shown_host(page.url),
            text=page.text,
            author=page.author,
            site=page.site,
            date=page.date or result.date,
            query=query,
        )


def choose_pages(
    results: Sequence[Sequence[WebResult]], numbers: Sequence[int], *, maximum: int
) -> list[_Target]:
    """Return the pages to read, the best of each query first, none twice.

    `numbers` are those of the queries. A page that several queries found belongs to the first.
    """
    targets: dict[str, _Target] = {}
    for number, ranked in zip(numbers, results, strict=True):
        for rank, result in enumerate(ranked):
            targets.setdefault(link_key(result.url) or result.url, _Target(number, rank, result))
    by_query = [[page for page in targets.values() if page.query == number] for number in numbers]
    turns = [page for turn in zip_longest(*by_query) for page in turn if page is not None]
    return turns[:maximum]


async def _run_jobs(until: float, work: Iterable[Awaitable[None]]) -> int:
    """Run all of `work` at once until a time of the event loop; return how much of it ended.

    What has not ended then is cancelled and waited for, as it is when this call is cancelled or
    any of the work raises.
    """
    tasks = [asyncio.ensure_future(job) for job in work]
    if not tasks:
        return 0
    try:
        seconds = max(0.0, until - asyncio.get_running_loop().time())
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
    return len(done)


def _build_findings(progress: _Progress) -> WebFindings:
    pages: dict[str, WebPage] = {}
    for place in sorted(progress.pages):
        page = progress.pages[place]
        pages.setdefault(link_key(page.url) or page.url, page)  # two links may have led to one page
    searched = [progress.searched[number] for number in sorted(progress.searched)]
    answered = dict.fromkeys(answer.provider for answer in searched if answer.provider)
    costs = [answer.cost_usd for answer in searched if answer.cost_usd is not None]
    notices = (*(notice for answer in searched for notice in answer.notices), *progress.notices)
    return WebFindings(
        pages=tuple(pages.values()),
        provider=", ".join(answered) or None,
        searches=sum(answer.requests for answer in searched),
        fetched=progress.fetched,
        cached=progress.cached,
        usage=Usage(cost_usd=sum(costs)) if costs else None,
        notices=tuple(dict.fromkeys(notices)),
    )

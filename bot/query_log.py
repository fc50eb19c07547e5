"""Logs searches, together with the current asker."""

import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from bot.settings import Settings
from db.logs import Asker, Log, LoggedSearch, Origin, SearchJob
from db.pool import Database
from engine.budget import BudgetSource
from engine.errors import PresagioError, StorageError
from engine.search import Prophecy

# The default asker is whoever runs the program; one task id per run.
_CONSOLE = Asker(origin=Origin.CONSOLE, task=uuid.uuid4().hex, source=BudgetSource.CONSOLE)
_asker: ContextVar[Asker | None] = ContextVar("asker", default=None)
_Answer = TypeVar("_Answer")


def current_asker() -> Asker:
    """Return the current asker."""
    return _asker.get() or _CONSOLE


def current_source() -> BudgetSource:
    """Return the budget source of the current asker."""
    return current_asker().source


@contextmanager
def asked_by(who: Asker) -> Iterator[None]:
    """Set the asker for the block and the tasks that it starts."""
    token = _asker.set(who)
    try:
        yield
    finally:
        _asker.reset(token)


def log_of(database: Database, settings: Settings) -> Log:
    """Return the search log, configured by [log]."""
    return Log(database, timedelta(days=settings.log.keep_days))


async def log_search(
    job: SearchJob,
    text: str,
    work: Awaitable[_Answer],
    complete: Callable[[LoggedSearch, _Answer], LoggedSearch],
    *,
    log: Log,
    chat_queries: bool,
    corpus: str,
) -> _Answer:
    """Await `work`, log the search and return the answer; `complete` adds what the answer reports.

    With `chat_queries`, queries that people type in chats are logged word by word. Errors of `work`
    are logged by name and raised again; logging itself raises nothing.
    """
    asked_by, started = current_asker(), time.perf_counter()
    entry = LoggedSearch(
        asker=asked_by,
        job=job,
        asked_at=datetime.now(UTC),
        milliseconds=0.0,
        text=text,
        quotable=may_quote(asked_by, job, chat_queries=chat_queries),
        corpus=corpus or None,
    )

    def timed_entry() -> LoggedSearch:
        return replace(entry, milliseconds=(time.perf_counter() - started) * 1000)

    try:
        answer = await work
    except StorageError:
        raise  # writing the log would fail too
    except PresagioError as error:
        await log.record(replace(timed_entry(), error=type(error).__name__))
        raise
    await log.record(complete(timed_entry(), answer))
    return answer


def may_quote(asker: Asker, job: SearchJob, *, chat_queries: bool) -> bool:
    """Return whether a text may be logged: in a chat only a query, and only if `chat_queries`."""
    return asker.origin is not Origin.CHAT or (job is SearchJob.FIND and chat_queries)


def add_prophecy(search: LoggedSearch, prophecy: Prophecy) -> LoggedSearch:
    """Return the entry of a search with what the answer to the headline reports."""
    return replace(
        search,
        text=prophecy.headline.text,
        corpus=prophecy.corpus,
        plan=prophecy.mode.value,
        counts={
            "candidates": len(prophecy.candidates),
            "judged": len(prophecy.verdict.scores),
            "returned": len(prophecy.hits),
        },
        returned=tuple(hit.candidate.external_id for hit in prophecy.hits),
        usage=prophecy.usage,
    )

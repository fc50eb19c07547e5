"""Searches on their way to the log, with who asks just now."""

import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from bot.settings import Settings
from db.model.search_log import Log
from db.pool import Database
from engine.budget import BudgetSource
from engine.errors import PresagioError, StorageError
from engine.search_log import Asker, LoggedSearch, Origin, SearchJob, may_quote

# Whoever runs the program, unless somebody else asks; one task a run.
_CONSOLE = Asker(origin=Origin.CONSOLE, task=uuid.uuid4().hex, source=BudgetSource.CONSOLE)
_asker: ContextVar[Asker | None] = ContextVar("asker", default=None)


def asker() -> Asker:
    """Return who asks."""
    return _asker.get() or _CONSOLE


def source() -> BudgetSource:
    """Return for whom a model is asked."""
    return asker().source


@contextmanager
def asked_by(one: Asker) -> Iterator[None]:
    """Let everything in the block, and what it starts, be asked by `one`."""
    token = _asker.set(one)
    try:
        yield
    finally:
        _asker.reset(token)


_Answer = TypeVar("_Answer")


def log_of(database: Database, settings: Settings) -> Log:
    """Return the log, as [log] says."""
    return Log(database, timedelta(days=settings.log.keep_days))


async def logged(
    job: SearchJob,
    text: str,
    work: Awaitable[_Answer],
    told: Callable[[LoggedSearch, _Answer], LoggedSearch],
    *,
    log: Log,
    settings: Settings,
    corpus: str = "",
) -> _Answer:
    """Return what `work` answers, and log it; `told` fills in what the answer says of itself.

    Raises what `work` raises, which is logged by its name, and nothing of its own.
    """
    asked_by, started = asker(), time.perf_counter()
    entry = LoggedSearch(
        asker=asked_by,
        job=job,
        asked_at=datetime.now(UTC),
        milliseconds=0.0,
        text=text,
        quotable=may_quote(asked_by, job, chat_queries=settings.log.chat_queries),
        corpus=corpus or None,
    )

    def timed() -> LoggedSearch:
        return replace(entry, milliseconds=(time.perf_counter() - started) * 1000)

    try:
        answer = await work
    except StorageError:
        raise  # the log would meet it too
    except PresagioError as error:
        await log.record(replace(timed(), error=type(error).__name__))
        raise
    await log.record(told(timed(), answer))
    return answer

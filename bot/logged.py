"""Searches on their way to the log."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from bot.askers import asker
from bot.settings import Settings
from db.log import Log
from db.pool import Database
from engine.errors import PresagioError, StorageError
from engine.search_log import LoggedSearch, SearchJob, may_quote

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

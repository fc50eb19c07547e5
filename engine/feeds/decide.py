"""What follows from one poll of a feed, as values that others carry out.

Nothing here reads a clock, a database or the network.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from engine.errors import FeedUnreadable, FetchError, FetchStatus
from engine.feeds.headlines import headlines_of
from engine.feeds.politeness import spread, wait_after_failure, wait_after_success
from engine.feeds.types import (
    Decision,
    Failed,
    Feed,
    FeedBack,
    FeedFailing,
    Notice,
    Polled,
    PollSettings,
    Read,
    Unchanged,
)

__all__ = [
    "Decision",
    "Failed",
    "FeedBack",
    "FeedFailing",
    "Notice",
    "PollSettings",
    "Polled",
    "Read",
    "Unchanged",
    "decide",
]

_GONE = 410
_MOVES_UNTIL_BELIEVED = 2  # in a row: a wrong redirect for an hour must not take the feed away


def decide(
    feed: Feed, outcome: Polled, *, now: datetime, settings: PollSettings, jitter: float
) -> Decision:
    """Return the feed as it shall be, its headlines and what its followers must hear.

    `jitter` is a random number in 0..1. Which of the headlines are new the store knows.
    """
    if isinstance(outcome, Unchanged) and not feed.primed:
        outcome = Failed(error=FeedUnreadable("The server says 'unchanged' of a feed never read."))
    if isinstance(outcome, Failed):
        return _failed(feed, outcome.error, now, settings, jitter)
    return _succeeded(feed, outcome, now, settings, jitter)


def _succeeded(
    feed: Feed, outcome: Read | Unchanged, now: datetime, settings: PollSettings, jitter: float
) -> Decision:
    ttl = outcome.parsed.ttl if isinstance(outcome, Read) else None
    wait = wait_after_success(outcome.headers, ttl, now=now, settings=settings)
    after = replace(
        _moved(feed, outcome.moved),
        next_poll_at=_after(now, wait, settings, jitter),
        polled_at=now,
        succeeded_at=now,
        failures=0,
        failing_since=None,
        told_failing=False,
        gone=False,
        error=None,
    )
    back = (FeedBack(feed=after, since=feed.failing_since or now),) if feed.told_failing else ()
    if not isinstance(outcome, Read):
        return Decision(feed=after, notices=back)
    said = {name.lower(): value for name, value in outcome.headers.items()}
    after = replace(
        after,
        title=outcome.parsed.title or feed.title,
        etag=said.get("etag"),
        last_modified=said.get("last-modified"),
    )
    found = headlines_of(outcome.parsed, now=now, primed=feed.primed, news_for=settings.news_for)
    return Decision(feed=after, headlines=found, notices=back)


def _failed(
    feed: Feed, error: FetchError, now: datetime, settings: PollSettings, jitter: float
) -> Decision:
    gone = isinstance(error, FetchStatus) and error.status == _GONE
    asked = error.retry_after if isinstance(error, FetchStatus) else None
    failures = feed.failures + 1
    wait = wait_after_failure(failures, asked, now=now, settings=settings)
    since = feed.failing_since or now
    lasting = failures >= settings.tell_failures and now - since >= timedelta(
        seconds=settings.tell_after
    )
    tell = not feed.told_failing and (gone or lasting)
    after = replace(
        feed,
        next_poll_at=_after(now, wait, settings, jitter),
        polled_at=now,
        failures=failures,
        failing_since=since,
        told_failing=feed.told_failing or tell,
        gone=gone,
        error=error.message,
    )
    told = (FeedFailing(feed=after, since=since, gone=gone),) if tell else ()
    return Decision(feed=after, notices=told)


def _moved(feed: Feed, moved: str | None) -> Feed:
    """Return the feed with what this poll says of its address; failures say nothing."""
    if moved is None or moved == feed.url:
        return replace(feed, moved_to=None, moved_times=0)
    times = feed.moved_times + 1 if moved == feed.moved_to else 1
    if times >= _MOVES_UNTIL_BELIEVED:
        return replace(feed, url=moved, moved_to=None, moved_times=0)
    return replace(feed, moved_to=moved, moved_times=times)


def _after(now: datetime, wait: float, settings: PollSettings, jitter: float) -> datetime:
    return now + timedelta(seconds=spread(wait, settings=settings, jitter=jitter))

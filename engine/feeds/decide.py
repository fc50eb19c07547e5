"""Decides what follows from one poll of a feed, as values that others act on."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from engine.errors import FeedUnreadable, FetchError, FetchStatus
from engine.feeds.feed import (
    DAY,
    Decision,
    Failed,
    Feed,
    FeedBack,
    FeedFailing,
    Polled,
    Read,
    Unchanged,
)
from engine.feeds.stories import headlines_of
from engine.messages import Message
from engine.settings.reading import PollingSettings

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,10}", re.ASCII)
_MOST_DOUBLINGS = 32
LONGEST = DAY  # maximum wait, whatever a server asks for or however often it fails
SPREAD = 0.2  # share of each wait that is added at random
_TELL_FAILURES = 3  # failed polls in a row before which nobody is told
_NEWS_FOR = 7 * DAY  # an entry that its author dates earlier is not news
_GONE = 410
_MOVES_UNTIL_BELIEVED = 2  # in a row: one hour with a wrong redirect must not move the feed


def wait_after_success(
    headers: Mapping[str, str], ttl: float | None, *, now: datetime, settings: PollingSettings
) -> float:
    """Return the seconds until the next poll: the longest wait asked for, up to the maximum.

    `headers` are those of the answer, `ttl` is the feed's own wish in seconds.
    """
    said = {name.lower(): value for name, value in headers.items()}
    asked = (
        settings.interval,
        ttl or 0.0,
        _fresh_for(said, now),
        requested_pause(said.get("retry-after"), now),
    )
    return min(max(asked), LONGEST)


def wait_after_failure(
    failures: int, asked: str | None, *, now: datetime, settings: PollingSettings
) -> float:
    """Return the seconds until the next poll, doubled with each of the `failures` in a row.

    `asked` is the Retry-After header.
    """
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    wait = max(settings.interval * 2.0**doublings, requested_pause(asked, now))
    return min(wait, LONGEST)


def requested_pause(header: str | None, now: datetime) -> float:
    """Return the seconds that a Retry-After header (a number or a date) asks for; 0 if none."""
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    return _seconds_until(text, now)


def spread(wait: float, *, jitter: float) -> float:
    """Return `wait` plus a random part of it, so that feeds are not polled in lockstep.

    `jitter` is a random number in 0..1.
    """
    return wait * (1.0 + SPREAD * jitter)


def _fresh_for(said: Mapping[str, str], now: datetime) -> float:
    """Return for how many seconds caches may keep the answer. max-age overrides Expires."""
    if found := _MAX_AGE.search(said.get("cache-control", "")):
        age = said.get("age", "").strip()
        return float(found[1]) - (float(age) if _SECONDS.fullmatch(age) else 0.0)
    # The server's clock may be wrong, but both dates come from it.
    return _seconds_until(said.get("expires", ""), _http_date(said.get("date", "")) or now)


def _seconds_until(written: str, now: datetime) -> float:
    date = _http_date(written)
    return max((date - now).total_seconds(), 0.0) if date else 0.0


def _http_date(written: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(written)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def decide(
    feed: Feed, outcome: Polled, *, now: datetime, settings: PollingSettings, jitter: float
) -> Decision:
    """Return the feed's new state, its headlines and the notices for its followers.

    `jitter` is a random number in 0..1. The store determines which of the headlines are new.
    """
    if isinstance(outcome, Unchanged) and not feed.is_primed:
        outcome = Failed(
            error=FeedUnreadable(Message("The server says 'unchanged' of a feed never read."))
        )
    if isinstance(outcome, Failed):
        return _decide_failure(feed, outcome.error, now, settings, jitter)
    return _decide_success(feed, outcome, now, settings, jitter)


def _decide_success(
    feed: Feed, outcome: Read | Unchanged, now: datetime, settings: PollingSettings, jitter: float
) -> Decision:
    ttl = outcome.parsed.ttl if isinstance(outcome, Read) else None
    wait = wait_after_success(outcome.headers, ttl, now=now, settings=settings)
    after = replace(
        _follow_move(feed, outcome.moved),
        next_poll_at=_after(now, wait, jitter),
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
    found = headlines_of(outcome.parsed, now=now, primed=feed.is_primed, news_for=_NEWS_FOR)
    return Decision(feed=after, headlines=found, notices=back)


def _decide_failure(
    feed: Feed, error: FetchError, now: datetime, settings: PollingSettings, jitter: float
) -> Decision:
    gone = isinstance(error, FetchStatus) and error.status == _GONE
    asked = error.retry_after if isinstance(error, FetchStatus) else None
    failures = feed.failures + 1
    wait = wait_after_failure(failures, asked, now=now, settings=settings)
    since = feed.failing_since or now
    lasting = failures >= _TELL_FAILURES and now - since >= timedelta(seconds=settings.tell_after)
    tell = not feed.told_failing and (gone or lasting)
    after = replace(
        feed,
        next_poll_at=_after(now, wait, jitter),
        polled_at=now,
        failures=failures,
        failing_since=since,
        told_failing=feed.told_failing or tell,
        gone=gone,
        error=error.message,
    )
    told = (FeedFailing(feed=after, since=since, gone=gone),) if tell else ()
    return Decision(feed=after, notices=told)


def _follow_move(feed: Feed, moved: str | None) -> Feed:
    """Return the feed with the redirect that this poll saw; failed polls are not passed here."""
    if moved is None or moved == feed.url:
        return replace(feed, moved_to=None, moved_times=0)
    times = feed.moved_times + 1 if moved == feed.moved_to else 1
    if times >= _MOVES_UNTIL_BELIEVED:
        return replace(feed, url=moved, moved_to=None, moved_times=0)
    return replace(feed, moved_to=moved, moved_times=times)


def _after(now: datetime, wait: float, jitter: float) -> datetime:
    return now + timedelta(seconds=spread(wait, jitter=jitter))

"""Decides what follows from a poll of a feed: the next poll, the address, the notices."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from engine.errors import FeedUnreadable, FetchError, FetchStatus
from engine.feeds.feed import (
    DAY,
    Decision,
    Feed,
    FeedBack,
    FeedFailed,
    FeedFailing,
    FeedUnchanged,
    Polled,
    Read,
)
from engine.feeds.stories import headlines_of
from engine.fetch import http_date, requested_pause
from engine.messages import Message
from engine.settings.fetching import PollingSettings

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,10}", re.ASCII)
_MAX_DOUBLINGS = 32
LONGEST = DAY  # maximum wait, whatever a server asks for or however often it fails
SPREAD = 0.2  # share of each wait that is added at random
_TELL_FAILURES = 3  # failed polls in a row before which nobody is told
_TELL_AFTER = timedelta(days=1)
_READ_WHOLE_AFTER = timedelta(days=1)
_GONE = 410
_MOVES_UNTIL_BELIEVED = 2  # in a row: one hour with a wrong redirect must not move the feed


def wait_after_success(
    headers: Mapping[str, str], ttl: float | None, *, now: datetime, settings: PollingSettings
) -> float:
    """Return the seconds until the next poll: the longest wait asked for, up to the maximum.

    With the longest jitter it is a day, as a feed is read at least once a day. `headers` are those
    of the answer, `ttl` is the feed's own wish in seconds.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    waits = (
        settings.interval,
        ttl or 0.0,
        _fresh_for(lowered, now),
        requested_pause(lowered.get("retry-after"), now) or 0.0,
    )
    return min(max(waits), max(LONGEST / (1.0 + SPREAD), settings.interval))


def wait_after_failure(
    failures: int, retry_after: str | None, *, now: datetime, settings: PollingSettings
) -> float:
    """Return the seconds until the next poll, doubled with each of the `failures` in a row.

    `retry_after` is the header of that name.
    """
    doublings = min(max(failures - 1, 0), _MAX_DOUBLINGS)
    wait = max(settings.interval * 2.0**doublings, requested_pause(retry_after, now) or 0.0)
    return min(wait, LONGEST)


def add_jitter(wait: float, *, jitter: float) -> float:
    """Return `wait` plus a random part of it, so that feeds are not polled in lockstep.

    `jitter` is a random number in 0..1.
    """
    return wait * (1.0 + SPREAD * jitter)


def validators_of(feed: Feed, *, now: datetime) -> dict[str, str]:
    """Return the headers that ask for a feed only if it has changed.

    Once a day it is asked for as a whole: some servers never change their ETag.
    """
    if feed.read_at is None or now - feed.read_at >= _READ_WHOLE_AFTER:
        return {}
    validators = {"If-None-Match": feed.etag, "If-Modified-Since": feed.last_modified}
    return {name: value for name, value in validators.items() if value}


def find_remark(feed: Feed, decision: Decision, *, reused: int, stored: int) -> Message | None:
    """Return what is odd about a feed, if a poll showed it.

    `reused` is how many guids stood over other news before, `stored` how many headlines were new.
    """
    if reused or (stored and decision.guids_shared):
        return Message("It gives different news the same guid; their titles tell them apart.")
    if stored and feed.etag and feed.etag == decision.feed.etag:
        return Message("Its ETag stays although it changes; it is read whole once a day.")
    return None


def _fresh_for(lowered: Mapping[str, str], now: datetime) -> float:
    """Return for how many seconds caches may keep the answer. max-age overrides Expires."""
    if match := _MAX_AGE.search(lowered.get("cache-control", "")):
        age = lowered.get("age", "").strip()
        return float(match[1]) - (float(age) if _SECONDS.fullmatch(age) else 0.0)
    # The server's clock may be wrong, but both dates come from it.
    return _seconds_until(lowered.get("expires", ""), http_date(lowered.get("date", "")) or now)


def _seconds_until(written: str, now: datetime) -> float:
    date = http_date(written)
    return max((date - now).total_seconds(), 0.0) if date else 0.0


def decide_poll(
    feed: Feed, outcome: Polled, *, now: datetime, settings: PollingSettings, jitter: float
) -> Decision:
    """Return the feed's new state, its headlines and the notices for its followers.

    `jitter` is a random number in 0..1. The store determines which of the headlines are new.
    """
    if isinstance(outcome, FeedUnchanged) and not feed.is_primed:
        outcome = FeedFailed(
            error=FeedUnreadable(Message("The server says 'unchanged' of a feed never read."))
        )
    if isinstance(outcome, FeedFailed):
        return _decide_failure(feed, outcome.error, now, settings, jitter)
    return _decide_success(feed, outcome, now, settings, jitter)


def _decide_success(
    feed: Feed,
    outcome: Read | FeedUnchanged,
    now: datetime,
    settings: PollingSettings,
    jitter: float,
) -> Decision:
    ttl = outcome.parsed.ttl if isinstance(outcome, Read) else None
    wait = wait_after_success(outcome.headers, ttl, now=now, settings=settings)
    after = replace(
        _follow_move(feed, outcome.moved),
        next_poll_at=_add_wait(now, wait, jitter),
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
    lowered = {name.lower(): value for name, value in outcome.headers.items()}
    after = replace(
        after,
        title=outcome.parsed.title or feed.title,
        etag=lowered.get("etag"),
        last_modified=lowered.get("last-modified"),
    )
    headlines = headlines_of(
        outcome.parsed,
        now=now,
        added_at=feed.created_at,
        is_first=not feed.is_primed,
    )
    guids_shared = outcome.parsed.guids_shared
    return Decision(feed=after, headlines=headlines, notices=back, guids_shared=guids_shared)


def _decide_failure(
    feed: Feed, error: FetchError, now: datetime, settings: PollingSettings, jitter: float
) -> Decision:
    gone = isinstance(error, FetchStatus) and error.status == _GONE
    retry_after = error.retry_after if isinstance(error, FetchStatus) else None
    failures = feed.failures + 1
    wait = wait_after_failure(failures, retry_after, now=now, settings=settings)
    since = feed.failing_since or now
    lasting = failures >= _TELL_FAILURES and now - since >= _TELL_AFTER
    tell = not feed.told_failing and (gone or lasting)
    after = replace(
        feed,
        next_poll_at=_add_wait(now, wait, jitter),
        polled_at=now,
        failures=failures,
        failing_since=since,
        told_failing=feed.told_failing or tell,
        gone=gone,
        error=error.message,
    )
    notices = (FeedFailing(feed=after, since=since, gone=gone),) if tell else ()
    return Decision(feed=after, notices=notices)


def _follow_move(feed: Feed, moved: str | None) -> Feed:
    """Return the feed with the redirect that this poll saw; failed polls are not passed here."""
    if moved is None or moved == feed.url:
        return replace(feed, moved_to=None, moved_times=0)
    times = feed.moved_times + 1 if moved == feed.moved_to else 1
    if times >= _MOVES_UNTIL_BELIEVED:
        return replace(feed, url=moved, moved_to=None, moved_times=0)
    return replace(feed, moved_to=moved, moved_times=times)


def _add_wait(now: datetime, wait: float, jitter: float) -> datetime:
    return now + timedelta(seconds=add_jitter(wait, jitter=jitter))

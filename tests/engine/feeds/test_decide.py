"""What follows from one poll."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FeedUnreadable, FetchError, FetchStatus, FetchTimeout
from engine.feeds.decide import (
    LONGEST,
    SPREAD,
    decide_poll,
    find_remark,
    validators_of,
    wait_after_failure,
    wait_after_success,
)
from engine.feeds.feed import (
    DAY,
    HOUR,
    MINUTE,
    Decision,
    Feed,
    FeedBack,
    FeedEntry,
    FeedFailed,
    FeedFailing,
    FeedUnchanged,
    ParsedFeed,
    Polled,
    Read,
)
from engine.messages import as_message
from engine.settings.fetching import PollingSettings

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
BEFORE = NOW - timedelta(hours=1)
SETTINGS = PollingSettings(interval_minutes=60)
ENTRY = FeedEntry(identity="1", title="The port of Lima is closed")
NEW = Feed(id=1, url="https://e.org/feed", created_at=NOW - timedelta(seconds=15), next_poll_at=NOW)
KNOWN = replace(NEW, succeeded_at=BEFORE, polled_at=BEFORE, etag='"a"', last_modified="then")


def read(*entries: FeedEntry, moved: str | None = None, **headers: str) -> Read:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Read(parsed=ParsedFeed(entries=entries, title="News"), headers=named, moved=moved)


def failed(status: int | None = None, retry_after: str | None = None) -> FeedFailed:
    if status is None:
        return FeedFailed(error=FetchTimeout("e.org does not answer.", fix="Try again later."))
    return FeedFailed(error=FetchStatus("e.org failed.", status=status, retry_after=retry_after))


def after(feed: Feed, outcome: Polled, *, now: datetime = NOW, jitter: float = 0.0) -> Decision:
    return decide_poll(feed, outcome, now=now, settings=SETTINGS, jitter=jitter)


def test_entries_between_following_a_feed_and_its_first_poll_are_news() -> None:
    dates = {
        "before": NOW - timedelta(seconds=16),
        "since": NOW - timedelta(seconds=5),
        "undated": None,
        "of a clock that is ahead": NOW + timedelta(hours=2),
    }
    entries = [replace(ENTRY, identity=name, published=date) for name, date in dates.items()]
    found = after(NEW, read(*entries)).headlines
    assert [headline.identity for headline in found if not headline.seen_before] == ["since"]
    waited = replace(NEW, created_at=NOW - timedelta(days=9))  # its server was away
    old = replace(ENTRY, published=NOW - timedelta(days=8))
    assert after(waited, read(old)).headlines[0].seen_before


def test_a_feed_is_asked_for_as_a_whole_once_a_day() -> None:
    read_lately = replace(KNOWN, read_at=NOW - timedelta(hours=23))
    assert validators_of(read_lately, now=NOW) == {
        "If-None-Match": '"a"',
        "If-Modified-Since": "then",
    }
    assert validators_of(read_lately, now=NOW + timedelta(hours=1)) == {}
    assert validators_of(KNOWN, now=NOW) == {}


def test_an_etag_or_guids_that_mean_nothing_are_remarked_on() -> None:
    same, other = after(KNOWN, read(ENTRY, ETag='"a"')), after(KNOWN, read(ENTRY, ETag='"b"'))
    assert "ETag" in str(find_remark(KNOWN, same, reused=0, stored=1))
    assert find_remark(KNOWN, same, reused=0, stored=0) is None
    assert find_remark(KNOWN, other, reused=0, stored=1) is None
    shared = replace(after(KNOWN, read(ENTRY)), guids_shared=True)
    for decision, reused in ((shared, 0), (after(KNOWN, read(ENTRY)), 1)):
        assert "same guid" in str(find_remark(KNOWN, decision, reused=reused, stored=1))


def test_a_successful_poll_resets_all_failure_state() -> None:
    worn = replace(KNOWN, failures=2, failing_since=BEFORE, error=as_message("It failed."))
    feed = after(worn, read(ENTRY, ETag='W/"b"', Last_Modified="now")).feed
    assert feed == replace(
        KNOWN,
        title="News",
        etag='W/"b"',
        last_modified="now",
        polled_at=NOW,
        succeeded_at=NOW,
        next_poll_at=NOW + timedelta(hours=1),
    )


def test_unchanged_keeps_validators_and_brings_nothing() -> None:
    decision = after(
        KNOWN, FeedUnchanged(headers={"etag": '"other"', "cache-control": "max-age=7200"})
    )
    assert decision == Decision(
        feed=replace(KNOWN, polled_at=NOW, succeeded_at=NOW, next_poll_at=NOW + timedelta(hours=2))
    )


def test_a_failure_keeps_validators_title_and_what_was_seen() -> None:
    feed = after(replace(KNOWN, title="News"), failed(500)).feed
    assert feed == replace(
        KNOWN,
        title="News",
        polled_at=NOW,
        failures=1,
        failing_since=NOW,
        error=as_message("e.org failed."),
        next_poll_at=NOW + timedelta(hours=1),
    )


@pytest.mark.parametrize(
    ("outcome", "wait"),
    [
        (failed(), HOUR),
        (failed(503, "7200"), 2 * HOUR),
        (failed(429, "Sun, 22 Nov 2026 15:00:00 GMT"), 3 * HOUR),
        (failed(503, "9999999"), DAY),
        (read(Retry_After="7200"), 2 * HOUR),
        (FeedUnchanged(headers={"Retry-After": "7200"}), 2 * HOUR),
    ],
)
def test_a_retry_after_of_the_server_is_respected(outcome: Polled, wait: float) -> None:
    assert after(KNOWN, outcome).feed.next_poll_at == NOW + timedelta(seconds=wait)
    later = after(KNOWN, outcome, jitter=1.0).feed.next_poll_at
    assert later == NOW + timedelta(seconds=wait * 1.2)


def polls(feed: Feed, outcomes: Sequence[Polled]) -> list[Decision]:
    """Return what follows from each, polled when it is due."""
    decisions = []
    for outcome in outcomes:
        decisions.append(after(feed, outcome, now=feed.next_poll_at))
        feed = decisions[-1].feed
    return decisions


def test_failing_feed_is_reported_once_after_a_day_and_once_when_back() -> None:
    decisions = polls(KNOWN, [failed()] * 40 + [read(ENTRY)] * 3)
    notices = [(number, notice) for number, one in enumerate(decisions) for notice in one.notices]
    (first, failing), (last, back) = notices
    assert isinstance(failing, FeedFailing) and isinstance(back, FeedBack)
    assert (failing.since, failing.gone, failing.feed.error) == (
        NOW,
        False,
        "e.org does not answer.",
    )
    times = [decision.feed.polled_at or NOW for decision in decisions]
    assert times[first - 1] < NOW + timedelta(days=1) <= times[first]
    assert (last, back.since) == (40, NOW)


def test_a_gone_feed_is_reported_at_once_and_revived_only_by_success() -> None:
    decision = after(KNOWN, failed(410))
    (notice,) = decision.notices
    assert isinstance(notice, FeedFailing) and notice.gone and decision.feed.gone
    again = after(decision.feed, failed(410))
    assert again.feed.gone and again.notices == ()
    back = after(again.feed, read(ENTRY))
    assert not back.feed.gone and [type(one) for one in back.notices] == [FeedBack]


MOVED = "https://new.example.org/feed"


@pytest.mark.parametrize(
    "outcomes",
    [
        [read(moved=MOVED), read()],
        [read(moved=MOVED), read(), read(moved=MOVED)],
        [read(moved=MOVED), read(moved="https://third.example.org/")],
        [failed(), failed()],
    ],
)
def test_temporary_or_varying_redirects_are_not_accepted(outcomes: list[Polled]) -> None:
    assert polls(KNOWN, outcomes)[-1].feed.url == KNOWN.url


feeds = st.builds(
    replace,
    st.just(NEW),
    succeeded_at=st.sampled_from([None, BEFORE]),
    failures=st.integers(min_value=0, max_value=10**6),
    failing_since=st.sampled_from([None, BEFORE, NOW - timedelta(days=400)]),
    told_failing=st.booleans(),
    gone=st.booleans(),
    moved_to=st.sampled_from([None, MOVED]),
)
said = st.dictionaries(st.sampled_from(["cache-control", "Expires", "Retry-After"]), st.text())
moves = st.sampled_from([None, MOVED])
errors: st.SearchStrategy[FetchError] = st.one_of(
    st.just(FeedUnreadable("This is not a feed.")),
    st.builds(
        FetchStatus,
        st.just("e.org failed."),
        status=st.integers(min_value=400, max_value=599),
        retry_after=st.none() | st.text() | st.integers().map(str),
    ),
)
outcomes: st.SearchStrategy[Polled] = st.one_of(
    st.builds(FeedUnchanged, headers=said, moved=moves),
    st.builds(
        Read,
        parsed=st.builds(
            ParsedFeed,
            entries=st.just((ENTRY,)),
            ttl=st.none() | st.floats(min_value=0, allow_nan=False),
        ),
        headers=said,
        moved=moves,
    ),
    st.builds(FeedFailed, error=errors),
)


@given(feed=feeds, outcome=outcomes, jitter=st.floats(min_value=0, max_value=1))
def test_a_next_poll_is_neither_past_nor_more_than_a_day_away(
    feed: Feed, outcome: Polled, jitter: float
) -> None:
    decision = after(feed, outcome, jitter=jitter)
    wait = (decision.feed.next_poll_at - NOW).total_seconds()
    assert SETTINGS.interval <= wait <= LONGEST * (1 + SPREAD)
    assert decision.feed.polled_at == NOW


@given(first=feeds, course=st.lists(outcomes, max_size=30))
def test_failing_and_back_notices_alternate(first: Feed, course: list[Polled]) -> None:
    is_known = first.told_failing
    for decision in polls(first, course):
        for notice in decision.notices:
            assert isinstance(notice, FeedBack) == is_known
            is_known = not is_known
        assert decision.feed.told_failing == is_known


@given(first=feeds, course=st.lists(outcomes, max_size=30))
def test_only_410_stops_polling(first: Feed, course: list[Polled]) -> None:
    for decision, outcome in zip(polls(first, course), course, strict=True):
        error = outcome.error if isinstance(outcome, FeedFailed) else None
        assert decision.feed.gone == (isinstance(error, FetchStatus) and error.status == 410)


@pytest.mark.parametrize(
    ("failures", "hours", "is_reported"),
    [(2, 24, True), (1, 24, False), (2, 23.9, False)],
)
def test_a_feed_is_reported_after_three_failures_over_a_full_day(
    failures: int, hours: float, is_reported: bool
) -> None:
    failing = replace(KNOWN, failures=failures, failing_since=NOW - timedelta(hours=hours))
    decision = decide_poll(failing, failed(), now=NOW, settings=SETTINGS, jitter=0)
    assert bool(decision.notices) is is_reported
    assert decision.feed.told_failing is is_reported


def test_a_redirect_back_to_the_same_url_is_no_move() -> None:
    """Cookie walls send a reader around and back to where it began."""
    moving = replace(KNOWN, moved_to="https://e.org/new", moved_times=1)
    feed = after(moving, read(ENTRY, moved=KNOWN.url)).feed
    assert (feed.url, feed.moved_to, feed.moved_times) == (KNOWN.url, None, 0)


# How long a feed is left alone
HALF_HOURLY = PollingSettings(interval_minutes=30)


@pytest.mark.parametrize(
    ("headers", "ttl", "wait"),
    [
        ({}, None, 30 * MINUTE),
        ({}, 5 * MINUTE, 30 * MINUTE),  # nobody makes it come more often
        ({}, 2 * HOUR, 2 * HOUR),
        ({"Cache-Control": "public, max-age=7200"}, None, 2 * HOUR),
        ({"cache-control": "max-age=7200", "age": "3600"}, None, HOUR),
        ({"cache-control": "max-age=7200", "age": "9999"}, None, 30 * MINUTE),
        ({"cache-control": 'MAX-AGE="7200"'}, None, 2 * HOUR),
        ({"cache-control": "s-maxage=7200"}, None, 30 * MINUTE),  # for shared caches
        ({"cache-control": "no-cache"}, None, 30 * MINUTE),
        ({"cache-control": "max-age=99999999999999999"}, None, DAY / (1 + SPREAD)),
        ({"expires": "Sun, 22 Nov 2026 15:00:00 GMT"}, None, 3 * HOUR),
        ({"expires": "Sun, 22 Nov 2026 09:00:00 GMT"}, None, 30 * MINUTE),
        ({"expires": "Fri, 31 Dec 9999 23:59:59 -2300"}, None, 30 * MINUTE),  # past all dates
        (  # the server's clock is a year behind
            {"expires": "Sat, 22 Nov 2025 15:00:00 GMT", "date": "Sat, 22 Nov 2025 13:00:00 GMT"},
            None,
            2 * HOUR,
        ),
        (  # RFC 9111, 5.3: max-age goes before Expires
            {"cache-control": "max-age=3600", "expires": "Sun, 22 Nov 2026 18:00:00 GMT"},
            None,
            HOUR,
        ),
        ({"Retry-After": "14400", "cache-control": "max-age=7200"}, HOUR, 4 * HOUR),
    ],
)
def test_the_longest_wait_applies(headers: dict[str, str], ttl: float | None, wait: float) -> None:
    assert wait_after_success(headers, ttl, now=NOW, settings=HALF_HOURLY) == wait


@pytest.mark.parametrize(
    ("failures", "asked", "wait"),
    [
        (1, None, 30 * MINUTE),
        (2, None, HOUR),
        (4, None, 4 * HOUR),
        (7, None, DAY),
        (3, "60", 2 * HOUR),
    ],
)
def test_failures_double_the_wait_to_a_day(failures: int, asked: str | None, wait: float) -> None:
    assert wait_after_failure(failures, asked, now=NOW, settings=HALF_HOURLY) == wait

"""How long a feed is left alone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.feeds.decide import (
    LONGEST,
    SPREAD,
    add_jitter,
    wait_after_failure,
    wait_after_success,
)
from engine.feeds.feed import DAY, HOUR, MINUTE
from engine.settings.fetching import PollingSettings

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
SETTINGS = PollingSettings(interval_minutes=30)


@pytest.mark.parametrize(
    ("headers", "ttl", "wait"),
    [
        ({}, None, 30 * MINUTE),
        ({}, 5 * MINUTE, 30 * MINUTE),  # nobody makes it come more often
        ({}, 2 * HOUR, 2 * HOUR),
        ({}, 90 * DAY, DAY / (1 + SPREAD)),
        ({"Cache-Control": "public, max-age=7200"}, None, 2 * HOUR),
        ({"cache-control": "max-age=7200", "age": "3600"}, None, HOUR),
        ({"cache-control": "max-age=7200", "age": "9999"}, None, 30 * MINUTE),
        ({"cache-control": 'MAX-AGE="7200"'}, None, 2 * HOUR),
        ({"cache-control": "s-maxage=7200"}, None, 30 * MINUTE),  # for shared caches
        ({"cache-control": "no-cache"}, None, 30 * MINUTE),
        ({"cache-control": "max-age=99999999999999999"}, None, DAY / (1 + SPREAD)),
        ({"cache-control": "max-age=-5"}, None, 30 * MINUTE),
        ({"expires": "Sun, 22 Nov 2026 15:00:00 GMT"}, None, 3 * HOUR),
        ({"expires": "Sun, 22 Nov 2026 09:00:00 GMT"}, None, 30 * MINUTE),
        ({"expires": "0"}, None, 30 * MINUTE),
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
def test_the_longest_requested_wait_applies(
    headers: dict[str, str], ttl: float | None, wait: float
) -> None:
    assert wait_after_success(headers, ttl, now=NOW, settings=SETTINGS) == wait


@pytest.mark.parametrize(
    ("failures", "asked", "wait"),
    [
        (1, None, 30 * MINUTE),
        (2, None, HOUR),
        (4, None, 4 * HOUR),
        (7, None, DAY),
        (10_000, None, DAY),
        (1, "10800", 3 * HOUR),
        (3, "60", 2 * HOUR),
        (1, "999999", DAY),
    ],
)
def test_failures_double_the_wait_up_to_a_day(
    failures: int, asked: str | None, wait: float
) -> None:
    assert wait_after_failure(failures, asked, now=NOW, settings=SETTINGS) == wait


@given(
    headers=st.dictionaries(
        st.sampled_from(["Cache-Control", "expires", "Date", "AGE", "retry-after"]), st.text()
    ),
    ttl=st.none() | st.floats(min_value=0),
    jitter=st.floats(min_value=0, max_value=1),
)
def test_whatever_a_server_says_the_wait_stays_within_bounds(
    headers: dict[str, str], ttl: float | None, jitter: float
) -> None:
    wait = wait_after_success(headers, ttl, now=NOW, settings=SETTINGS)
    assert SETTINGS.interval <= wait <= LONGEST
    assert wait <= add_jitter(wait, jitter=jitter) <= wait * 1.2

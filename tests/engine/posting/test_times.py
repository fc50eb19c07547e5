"""A daily post goes out once a local date, whatever the clocks of its zone do."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.posting.delivery import PostingMode, Subscription
from engine.posting.schedule import (
    find_due_day,
    instant_allowed,
    is_quiet,
    next_look,
    next_planned,
    planned_at,
)
from tests.engine.posting.subscriptions import subscribed

MADRID, NEW_YORK, APIA = "Europe/Madrid", "America/New_York", "Pacific/Apia"
LORD_HOWE, SAO_PAULO, NUUK = "Australia/Lord_Howe", "America/Sao_Paulo", "America/Nuuk"
DAY = timedelta(days=1)
GRACE = timedelta(hours=6)


def posts(
    subscription: Subscription,
    start: str,
    end: str,
    *,
    step: timedelta = timedelta(minutes=1),
    down: tuple[str, str] | None = None,
) -> list[str]:
    """What is posted by a ticker that runs from `start` to `end` (UTC) except while it is `down`:
    the local date of each post and its local time. The chat has subscribed at `start`."""
    subscription = replace(subscription, since=utc(start), timed_from=utc(start))
    zone = ZoneInfo(subscription.chat.time_zone)
    decided: date | None = None
    posts = []
    look = utc(start)
    for now in ticks(start, end, step):
        if down and utc(down[0]) <= now < utc(down[1]):
            continue
        day = find_due_day(subscription, now, decided, GRACE)
        if now >= look:
            look = next_look(subscription, now)
            assert now < look <= now + DAY
        else:
            assert day is None, "who looks only where next_look says sees the same"
        if day is not None:
            decided = day
            posts.append(f"{day:%m-%d} {now.astimezone(zone):%d %H:%M %z}")
    return posts


def ticks(start: str, end: str, step: timedelta) -> Iterator[datetime]:
    now, last = utc(start), utc(end)
    while now < last:
        yield now
        now += step


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


CLOCKS = {
    "the hour stays when the clock is put forward": (
        *("09:00", MADRID, "2026-03-28T00:00", "2026-03-30T12:00"),
        ["03-28 28 09:00 +0100", "03-29 29 09:00 +0200", "03-30 30 09:00 +0200"],
    ),
    "an hour that never comes": (
        *("02:30", MADRID, "2026-03-28T12:00", "2026-03-30T12:00"),
        ["03-29 29 03:30 +0200", "03-30 30 02:30 +0200"],
    ),
    "an hour that comes twice": (
        *("02:30", MADRID, "2026-10-24T12:00", "2026-10-26T12:00"),
        ["10-25 25 02:30 +0200", "10-26 26 02:30 +0100"],
    ),
    "midnight, and another year": (
        *("00:00", MADRID, "2025-12-30T12:00", "2026-01-01T12:00"),
        ["12-31 31 00:00 +0100", "01-01 01 00:00 +0100"],
    ),
    "a day that begins at one": (
        *("00:00", SAO_PAULO, "2018-11-03T00:00", "2018-11-05T12:00"),
        ["11-03 03 00:00 -0300", "11-04 04 01:00 -0200", "11-05 05 00:00 -0200"],
    ),
    "a day without its last hour": (
        *("23:30", NUUK, "2024-03-30T12:00", "2024-04-01T12:00"),
        ["03-30 31 00:30 -0100", "03-31 31 23:30 -0100"],
    ),
    "a zone that skipped 30 December 2011": (
        *("09:00", APIA, "2011-12-29T00:00", "2012-01-01T12:00"),
        ["12-29 29 09:00 -1000", "12-31 31 09:00 +1400", "01-01 01 09:00 +1400"],
    ),
}


@pytest.mark.parametrize(("at", "zone", "start", "end", "expected"), CLOCKS.values(), ids=CLOCKS)
def test_daily_posts_follow_local_time_across_clock_changes(
    at: str, zone: str, start: str, end: str, expected: list[str]
) -> None:
    assert posts(subscribed(at, zone), start, end) == expected


@pytest.mark.parametrize(
    ("back", "expected"),
    [
        ("2026-06-01T09:00", ["06-01 01 09:00 +0000"]),
        ("2026-06-01T15:00", ["06-01 01 15:00 +0000"]),
        ("2026-06-01T15:01", []),
    ],
)
def test_after_an_outage_a_post_comes_late_within_the_grace(back: str, expected: list[str]) -> None:
    down = ("2026-06-01T00:00", back)
    assert posts(subscribed(), "2026-06-01T00:00", "2026-06-02T00:00", down=down) == expected


@pytest.mark.parametrize(
    ("at", "quiet", "expected"),
    [
        ("07:00", "23:00-08:00", "06-02 02 08:00 +0000"),
        ("08:00", "23:00-08:00", "06-02 02 08:00 +0000"),
        ("23:00", "23:00-08:00", "06-01 02 08:00 +0000"),
        ("12:30", "12:00-14:00", "06-02 02 14:00 +0000"),
    ],
)
def test_quiet_hours_put_a_post_off_to_their_end(at: str, quiet: str, expected: str) -> None:
    found = posts(subscribed(at, quiet=quiet), "2026-06-01T22:00", "2026-06-02T22:00")
    assert found == [expected]


def test_the_grace_does_not_run_out_in_quiet_hours() -> None:
    """Due at 21:00, back at 23:30: two hours have counted, four are left from eight o'clock."""
    chat = subscribed("21:00", quiet="23:00-08:00")
    down = ("2026-06-01T20:00", "2026-06-01T23:30")
    late = posts(chat, "2026-06-01T20:00", "2026-06-02T20:00", down=down)
    assert late == ["06-01 02 08:00 +0000"]
    for back, expected in (("12:00", ["06-01 02 12:00 +0000"]), ("12:01", [])):
        down = ("2026-06-01T20:00", f"2026-06-02T{back}")
        assert posts(chat, "2026-06-01T20:00", "2026-06-02T20:00", down=down) == expected


def test_changing_the_time_zone_does_not_repeat_a_daily_post() -> None:
    """Posted in Auckland, then the chat says that it is in Honolulu, where it is yesterday."""
    now = utc("2026-06-01T21:30")
    decided = find_due_day(subscribed("09:00", "Pacific/Auckland"), now, None)
    assert decided == date(2026, 6, 2)
    assert find_due_day(subscribed("09:00", "Pacific/Honolulu"), now, decided) is None
    assert find_due_day(subscribed("09:00", "Pacific/Honolulu"), now + DAY, decided) is None
    assert find_due_day(subscribed("09:00", "Pacific/Honolulu"), now + 2 * DAY, decided) == date(
        2026, 6, 3
    )


@pytest.mark.parametrize(
    ("now", "allowed"),
    [
        ("2026-06-01T12:00", True),  # a Monday
        ("2026-06-01T21:30", False),  # half past eleven at night in Madrid
        ("2026-06-01T21:00", False),
        ("2026-06-01T20:59", True),
        ("2026-06-02T12:00", False),  # Tuesday
        ("2026-06-07T23:30", False),  # Monday in Madrid, and quiet
        ("2026-06-08T06:00", True),
    ],
)
def test_finds_are_told_at_once_outside_quiet_hours_on_chosen_days(now: str, allowed: bool) -> None:
    chat = subscribed(zone=MADRID, quiet="23:00-08:00", mode=PostingMode.INSTANT, weekdays=(0,))
    assert instant_allowed(chat, utc(now)) is allowed


ZONES = [MADRID, NEW_YORK, LORD_HOWE, SAO_PAULO, NUUK, APIA, "Asia/Kolkata", "Africa/Cairo"]
CHANGES = [
    *(date(2026, 3, 29), date(2026, 10, 25), date(2026, 3, 8), date(2026, 11, 1)),
    *(date(2026, 4, 5), date(2018, 11, 4), date(2024, 3, 30), date(2011, 12, 30)),
    *(date(2024, 2, 29), date(2026, 4, 24), date(2025, 12, 31)),
]
TIMES = st.times().map(lambda at: at.replace(second=0, microsecond=0))


@given(
    zone=st.sampled_from(ZONES),
    change=st.sampled_from(CHANGES),
    at=TIMES,
    quiet=st.none() | st.tuples(TIMES, TIMES).filter(lambda span: span[0] != span[1]),
    step=st.integers(1, 50),
)
def test_each_date_that_exists_is_decided_once_and_never_in_quiet_hours(
    zone: str, change: date, at: time, quiet: tuple[time, time] | None, step: int
) -> None:
    written = f"{quiet[0]:%H:%M}-{quiet[1]:%H:%M}" if quiet else None
    chat = subscribed(f"{at:%H:%M}", zone, written)
    start = datetime.combine(change - 3 * DAY, time(0), ZoneInfo(zone)).astimezone(UTC)
    now, decided, dates = start, None, []
    while now < start + 7 * DAY:
        if (day := find_due_day(chat, now, decided, timedelta(hours=23))) is not None:
            assert not is_quiet(chat.chat, now)
            planned = planned_at(chat, day)
            assert planned
            assert planned <= now
            dates.append(day)
            decided = day
        now += timedelta(minutes=step)
    local = [change + number * DAY for number in range(-2, 3)]
    existing = [day for day in local if planned_at(chat, day)]
    assert len(existing) == (4 if zone == APIA and change == date(2011, 12, 30) else 5)
    longest = max((_length(span) for span in [quiet] if span), default=timedelta())
    if longest < timedelta(hours=23) - timedelta(minutes=step):
        assert [day for day in dates if day in local] == existing
    assert dates == sorted(set(dates))


def _length(quiet: tuple[time, time]) -> timedelta:
    start, end = (datetime.combine(date(2000, 1, 1), at) for at in quiet)
    return (end - start) % DAY


@pytest.mark.parametrize(
    ("subscription", "now", "expected"),
    [
        (subscribed("09:00"), "2026-11-22 08:59", "2026-11-22 09:00"),
        (subscribed("09:00"), "2026-11-22 09:00", "2026-11-23 09:00"),
        (subscribed("08:30", MADRID), "2026-11-22 08:00", "2026-11-23 07:30"),
        (subscribed("09:00", weekdays=(6,)), "2026-11-22 10:00", "2026-11-29 09:00"),
        (subscribed("23:30", quiet="23:00-08:00"), "2026-11-22 03:00", "2026-11-22 08:00"),
        (subscribed("02:30", MADRID), "2026-03-28 12:00", "2026-03-29 01:30"),
        (subscribed(mode=PostingMode.INSTANT), "2026-11-22 09:00", None),
        (subscribed(mode=PostingMode.OFF), "2026-11-22 09:00", None),
        (subscribed(weekdays=()), "2026-11-22 09:00", None),
    ],
)
def test_the_next_post_is_the_first_that_is_planned(
    subscription: Subscription, now: str, expected: str | None
) -> None:
    assert next_planned(subscription, utc(now)) == (utc(expected) if expected else None)


@given(
    minute=st.integers(0, 14 * 24 * 60),
    weekdays=st.sets(st.integers(0, 6)),
    hours=st.none() | st.tuples(st.times(), st.times()).filter(lambda pair: pair[0] != pair[1]),
    zone=st.sampled_from([MADRID, NEW_YORK, APIA, LORD_HOWE]),
)
def test_instant_posting_stays_closed_until_the_next_look(
    minute: int, weekdays: set[int], hours: tuple[time, time] | None, zone: str
) -> None:
    subscription = subscribed(mode=PostingMode.INSTANT, weekdays=tuple(sorted(weekdays)))
    quiet_from, quiet_to = hours or (None, None)
    chat = replace(subscription.chat, time_zone=zone, quiet_from=quiet_from, quiet_to=quiet_to)
    subscription = replace(subscription, chat=chat)
    now = utc("2026-03-20 00:00") + timedelta(minutes=minute)
    look = next_look(subscription, now)
    assert now < look <= now + DAY
    open_now = instant_allowed(subscription, now)
    later = now
    while not open_now and later < look:
        assert not instant_allowed(subscription, later)
        later += timedelta(minutes=7)

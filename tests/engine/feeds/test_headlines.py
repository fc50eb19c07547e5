"""Entries as headlines."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engine.feeds.feed import FeedEntry, NewHeadline, ParsedFeed
from engine.feeds.read import read_feed
from engine.feeds.stories import KnownHeadline, headlines_of, identity_hash, is_reused, words_hash
from tests.engine.feeds.documents import URL, item, rss

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ADDED = NOW - timedelta(days=400)


def headlines(*entries: FeedEntry) -> tuple[NewHeadline, ...]:
    parsed = ParsedFeed(entries=entries, language="en")
    return headlines_of(parsed, now=NOW, added_at=ADDED, is_first=False)


def headline(**said: object) -> NewHeadline:
    entry = FeedEntry(identity="1", title="The port of Lima is closed")
    (found,) = headlines(replace(entry, **said))  # type: ignore[arg-type]  # any field of Entry
    return found


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("LIVE: The port of Lima is closed", "The port of Lima is closed"),
        ("OPINION: The port of Lima is closed", "The port of Lima is closed"),
        ("The port of Lima is closed - BBC News", "The port of Lima is closed"),
        ("El puerto de Lima está cerrado | La Nación", "El puerto de Lima está cerrado"),
    ],
)
def test_labels_and_sources_are_shown_and_not_searched(title: str, text: str) -> None:
    found = headline(title=title)
    assert (found.title, found.text) == (title, text)


@pytest.mark.parametrize(
    ("written", "published"),
    [
        (None, NOW),
        (NOW - timedelta(hours=5), NOW - timedelta(hours=5)),
        (NOW + timedelta(days=400), NOW),
        (datetime(1970, 1, 1, tzinfo=UTC), NOW),  # "no date"
    ],
)
def test_missing_or_future_dates_are_replaced(
    written: datetime | None, published: datetime
) -> None:
    assert headline(published=written).published == published


def test_entries_without_words_and_repeated_identities_are_left_out() -> None:
    found = headlines(
        FeedEntry(identity="1", title=""),
        FeedEntry(identity="2", title="— …", summary="Words"),
        FeedEntry(identity="3", title="https://e.org/x"),
        FeedEntry(identity="4", title="The port is closed"),
        FeedEntry(identity="4", title="The port is closed"),
    )
    assert [one.identity for one in found] == ["4"]


def seen(headlines: tuple[NewHeadline, ...]) -> set[bytes]:
    return {words_hash(one) for one in headlines}


def test_the_same_words_at_two_addresses_are_two_entries() -> None:
    pair = [
        FeedEntry(identity=name, title="The port is closed", link=f"https://e.org/{name}")
        for name in "ab"
    ]
    assert len(seen(headlines(*pair))) == 2


def test_guids_and_tracking_that_change_with_every_poll_do_not_flood() -> None:
    def poll(number: int) -> tuple[NewHeadline, ...]:
        items = (
            item(
                f"Story {n} of the day",
                guid=f"random-{number}-{n}",
                link=f"https://e.org/{n}?utm_id={number}&amp;sid={number}",
            )
            for n in range(20)
        )
        parsed = read_feed(rss(*items), None, URL)
        return headlines_of(parsed, now=NOW, added_at=ADDED, is_first=False)

    first, second = poll(1), poll(2)
    assert {identity_hash(one) for one in first}.isdisjoint(identity_hash(one) for one in second)
    assert len(seen(first)) == 20
    assert seen(first) == seen(second)


def news(*dates: datetime | None, added_at: datetime, is_first: bool = False) -> list[bool]:
    entries = tuple(
        FeedEntry(
            identity=str(number), title=f"The port of Lima is closed {number}", published=date
        )
        for number, date in enumerate(dates)
    )
    found = headlines_of(ParsedFeed(entries=entries), now=NOW, added_at=added_at, is_first=is_first)
    return [not one.seen_before for one in found]


@pytest.mark.parametrize("is_first", [True, False])
def test_nothing_dated_before_the_feed_was_added_is_news(is_first: bool) -> None:
    added = NOW - timedelta(hours=3)
    dates = (added - timedelta(minutes=1), added + timedelta(minutes=1), None)
    assert news(*dates, added_at=added, is_first=is_first) == [False, True, not is_first]


def known(**said: object) -> KnownHeadline:
    before = KnownHeadline(title="The port of Lima is closed", link=None, published=NOW)
    return replace(before, **said)  # type: ignore[arg-type]  # any field of KnownHeadline


@pytest.mark.parametrize(
    ("title", "link", "hours", "other"),
    [
        ("Lima closes its port", "https://e.org/1", 0, False),  # edited
        ("Ships wait off Callao", "https://e.org/1", 2, False),  # rewritten within hours
        ("Ships wait off Callao", "https://e.org/2", 0, True),
        ("Ships wait off Callao", "https://e.org/", 0, True),  # the link says nothing
        ("Ships wait off Callao", "https://e.org/1", 24, True),
        ("The port of Lima is closed again", "https://e.org/2", 48, False),
    ],
)
def test_a_guid_stands_over_other_news_by_its_title_and_its_link_or_day(
    title: str, link: str, hours: int, other: bool
) -> None:
    new = headline(title=title, link=link, published=NOW)
    before = known(link="https://e.org/1", published=NOW - timedelta(hours=hours))
    assert is_reused(new, before) is other

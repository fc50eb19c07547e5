"""Dates typed beside a headline narrow the search, and the answer names the one it used."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.replies.dates import TypedHeadline, read_typed
from engine.search import Filters
from tests.bot.conversing import Bot, bot_on
from tests.bot.prophecies import NOW


def day(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Coffee soars", TypedHeadline(text="Coffee soars")),
        (
            "Coffee soars before:2014",
            TypedHeadline(text="Coffee soars", filters=Filters(before=day(2014))),
        ),
        (
            "date:2018-12-24 Coffee soars",
            TypedHeadline(text="Coffee soars", date=day(2018, 12, 24)),
        ),
        ("Coffee soars fecha:2018-12", TypedHeadline(text="Coffee soars", date=day(2018, 12))),
        ("Coffee soars (2018)", TypedHeadline(text="Coffee soars", date=day(2018))),
        ("Coffee soars (2018).", TypedHeadline(text="Coffee soars", date=day(2018))),
        (
            "Coffee soars (2018) after:2010",
            TypedHeadline(text="Coffee soars", date=day(2018), filters=Filters(after=day(2010))),
        ),
        (
            "Coffee soars date:2016 (2018)",
            TypedHeadline(text="Coffee soars (2018)", date=day(2016)),
        ),
        (
            "Coffee soars exclude-recent:12 (2018)",
            TypedHeadline(text="Coffee soars", date=day(2018), exclude_recent=12),
        ),
        ("Coffee soars --exclude-recent 12", TypedHeadline(text="Coffee soars", exclude_recent=12)),
        ("—exclude-recent 0 Coffee", TypedHeadline(text="Coffee", exclude_recent=0)),
        ("Sube el café sin-recientes:6", TypedHeadline(text="Sube el café", exclude_recent=6)),
        ("exclude-recent:12", TypedHeadline(text="exclude-recent:12")),
        ("Coffee in 2050 (2050)", TypedHeadline(text="Coffee in 2050 (2050)")),
        ("The plan (2018) failed", TypedHeadline(text="The plan (2018) failed")),
        ("Before: the storm", TypedHeadline(text="Before: the storm")),
        ("before:noon all is well", TypedHeadline(text="before:noon all is well")),
        ("before:2014", TypedHeadline(text="before:2014")),
        ("(2018)", TypedHeadline(text="(2018)")),
    ],
)
def test_dates_are_read_and_taken_out(text: str, expected: TypedHeadline) -> None:
    assert read_typed(text, now=NOW) == expected


async def test_the_last_months_are_left_out_on_request(bot: Bot) -> None:
    await bot.say("Coffee prices soar exclude-recent:12")
    await bot.say("Coffee prices soar")
    assert bot.engine.excluded == [12, None]


async def test_minimum_age_limits_the_before_filter(bot: Bot) -> None:
    async with bot_on(bot.claims._database, minimum_age=timedelta(days=30)) as careful:
        await careful.say("Coffee prices soar (2018)")
        await careful.say("Coffee prices soar before:2014")
        await careful.say("Coffee prices soar")
        befores = [filters.before for filters in careful.engine.filters]
    assert befores == [day(2018) - timedelta(days=30), day(2014), NOW - timedelta(days=30)]

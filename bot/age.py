"""How long before something a text was written, in the words of a person."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bot.words import Words, marked_plural, words_for

_FORMS = {
    "year": marked_plural("{number} year before", "{number} years before"),
    "month": marked_plural("{number} month before", "{number} months before"),
    "day": marked_plural("{number} day before", "{number} days before"),
}


@dataclass(frozen=True, slots=True)
class Age:
    """Whole units of calendar time: `count` of `unit` (year, month or day)."""

    count: int
    unit: str

    def __str__(self) -> str:
        return self.said(words_for("en"))

    def said(self, words: Words) -> str:
        """Return the age in a reader's language."""
        if self.count == 0:
            return words.say("less than a day before")
        return words.count(*_FORMS[self.unit], self.count)


def age_between(earlier: datetime, later: datetime) -> Age:
    """Return the full years between two moments (UTC), else months, else days.

    Never more than has passed. When `earlier` is the later one the age is 0 days.
    """
    earlier, later = earlier.astimezone(UTC), later.astimezone(UTC)
    if later <= earlier:
        return Age(0, "day")
    months = _whole_months(earlier, later)
    if months >= 12:
        return Age(months // 12, "year")
    if months:
        return Age(months, "month")
    return Age((later - earlier).days, "day")


def _whole_months(earlier: datetime, later: datetime) -> int:
    begun = (later.year - earlier.year) * 12 + later.month - earlier.month
    last_is_whole = (later.day, later.time()) >= (earlier.day, earlier.time())
    return begun if last_is_whole else begun - 1

"""How long before its headline a text was written, in what is shown.

Tests compare the number of years. Its wording is tested in tests.bot.replies.
"""

import re
from datetime import UTC, datetime

from bot.i18n.words import words_for
from bot.replies.dates import say_age

_LATER = datetime(2500, 1, 1, tzinfo=UTC)


def say_years(years: int, months: int = 0, *, language: str = "en") -> str:
    """Return an age of full years and months as it is shown in a language."""
    month = _LATER.year * 12 + _LATER.month - 1 - 12 * years - months
    earlier = _LATER.replace(year=month // 12, month=month % 12 + 1)
    return say_age(earlier, _LATER, words_for(language))


def read_years(text: str, language: str = "en") -> list[int]:
    """Return the ages of a year and more that a text shows, in years."""
    before, months = {"en": ("before", ", "), "es": ("antes", " y ")}[language]
    return list(map(int, re.findall(rf"(\d+) (?:years?|años?)(?:{months}\d+ \w+)? {before}", text)))

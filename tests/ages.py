"""How long before its headline a text was written, in what is shown.

Tests compare the number of years. Its wording is tested in tests.bot.i18n and tests.bot.replies.
"""

import re

from bot.i18n.words import words_for
from bot.replies.dates import Age


def say_years(number: int, language: str = "en") -> str:
    """Return an age as it is shown in a language."""
    return Age(number, "year").render(words_for(language))


def read_years(text: str, language: str = "en") -> list[int]:
    """Return the ages that a text shows, in years."""
    forms = (re.escape(say_years(number, language)) for number in (1, 2))
    form = "|".join(re.sub(r"\d", r"(\\d+)", each) for each in forms)
    return [int(one or several) for one, several in re.findall(form, text)]

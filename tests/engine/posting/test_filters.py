"""A chat hears of the stories that its filters let in."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.posting.choose import MismatchReason, find_mismatch
from tests.engine.posting.finds import NOW, story
from tests.engine.posting.subscriptions import subscribed

TITLE = "México's central bank raises rates; markets fall"


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({}, None),
        ({"must": ("bank",)}, None),
        ({"must": ("opera", "rates")}, None),
        ({"must": ("central bank",)}, None),
        ({"must": ("CENTRAL BANK!",)}, None),
        ({"must": ("mexico",)}, None),
        ({"must": ("banks",)}, MismatchReason.WORD_MISSING),
        ({"must": ("ban",)}, MismatchReason.WORD_MISSING),
        ({"must": ("bank central",)}, MismatchReason.WORD_MISSING),
        ({"must": (".*",)}, MismatchReason.WORD_MISSING),
        ({"must_not": ("opera",)}, None),
        ({"must_not": ("fall",)}, MismatchReason.WORD_PRESENT),
        ({"must_not": ("méxico",)}, MismatchReason.WORD_PRESENT),
        ({"must_not": ("al",)}, None),
        ({"must_not": ("...",)}, None),
        ({"must": ("bank",), "must_not": ("bank",)}, MismatchReason.WORD_PRESENT),
        ({"languages": ("en", "es")}, None),
        ({"languages": ("ES",)}, MismatchReason.LANGUAGE),
        ({"categories": ("Economy",)}, None),
        ({"categories": ("sport", "politics")}, None),
        ({"categories": ("sport",)}, MismatchReason.CATEGORY),
        ({"since": NOW - timedelta(hours=2, minutes=30)}, None),  # of before, seen since
        ({"since": NOW - timedelta(hours=2)}, None),
        ({"since": NOW - timedelta(hours=1)}, MismatchReason.OLD),
    ],
)
def test_each_filter_rejects_with_its_reason(
    filters: dict[str, Any], reason: MismatchReason | None
) -> None:
    news = story(title=TITLE, language="en", categories=("economy", "politics"))
    assert find_mismatch(subscribed(**filters), news) is reason


def test_a_story_without_a_value_fails_the_filter_for_it() -> None:
    assert find_mismatch(subscribed(languages=("en",)), story()) is MismatchReason.LANGUAGE
    assert find_mismatch(subscribed(categories=("tech",)), story()) is MismatchReason.CATEGORY


@given(words=st.text(max_size=20), title=st.text(max_size=60))
def test_any_word_can_be_required_or_excluded(words: str, title: str) -> None:
    """A word is present or missing, whatever characters it is made of."""
    news = story(title=title)
    missing = find_mismatch(subscribed(must=(words,)), news) is MismatchReason.WORD_MISSING
    present = find_mismatch(subscribed(must_not=(words,)), news) is MismatchReason.WORD_PRESENT
    assert missing is not present

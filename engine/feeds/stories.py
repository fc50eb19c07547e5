"""When two headlines are one story."""

from collections.abc import Sequence


def link_key(url: str) -> str | None:
    """Return the address without what only tells readers apart; None for a bare home page."""
    raise NotImplementedError


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct content words of a headline, sorted, without case and accents."""
    raise NotImplementedError


def telling(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of which each same story holds at least one: few enough for an index."""
    raise NotImplementedError


def same_story(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two headlines, as `words_of` gives them, are nearly identical."""
    raise NotImplementedError

"""Entries of feeds as headlines: cleaned, dated, and recognised when they come again."""

from datetime import datetime

from engine.feeds.types import NewHeadline, ParsedFeed


def headlines(
    parsed: ParsedFeed, *, now: datetime, primed: bool, news_for: float
) -> tuple[NewHeadline, ...]:
    """Return what `parsed` holds as headlines, each once, in the order of the feed."""
    raise NotImplementedError


def identity_hash(headline: NewHeadline) -> bytes:
    """Return SHA-256 of the identity that the feed gives the entry."""
    raise NotImplementedError


def words_hash(headline: NewHeadline) -> bytes:
    """Return SHA-256 of link and words: the entry again, whatever its guid has become."""
    raise NotImplementedError

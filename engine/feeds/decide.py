"""What follows from one poll of a feed, as values that others carry out."""

from datetime import datetime

from engine.feeds.types import (
    Decision,
    Failed,
    Feed,
    FeedBack,
    FeedFailing,
    Notice,
    Polled,
    PollSettings,
    Read,
    Unchanged,
)

__all__ = [
    "Decision",
    "Failed",
    "FeedBack",
    "FeedFailing",
    "Notice",
    "PollSettings",
    "Polled",
    "Read",
    "Unchanged",
    "decide",
]


def decide(
    feed: Feed, outcome: Polled, *, now: datetime, settings: PollSettings, jitter: float
) -> Decision:
    """Return the feed as it shall be, its headlines and what its followers must hear.

    `jitter` is a random number in 0..1.
    """
    raise NotImplementedError

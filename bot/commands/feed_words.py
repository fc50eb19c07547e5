"""Feeds in words: what a person is told of one, and of the jobs that read them."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from bot.cut import cut
from bot.engine_sentences import in_language
from bot.words import Words, marked
from db.job_outcomes import JobOutcome, Outcome
from engine.feeds.shown import public_address
from engine.feeds.types import Feed
from engine.zones import zone_or_utc

_LONGEST_TITLE, _LONGEST_URL, _LONGEST_ERROR = 80, 200, 200
_INDENT = "   "
_TROUBLE = {
    Outcome.FAILED: marked("failed"),
    Outcome.TIMED_OUT: marked("timed out"),
    Outcome.MISSED: marked("missed"),
    Outcome.SKIPPED: marked("skipped"),
}


def feed_lines(feed: Feed, time_zone: str, words: Words) -> Iterator[str]:
    """Yield the lines about one feed of a list: number, name, address and how it fares."""
    everybody = words.say("for everybody")
    marks = f" · {everybody}" if feed.configured else ""
    category = shown_category(feed.category)
    # Who runs the bot may have written a token into the address of everybody's feed.
    url = public_address(feed.url) if feed.configured else feed.url
    yield f"{feed.id}. {title_of(feed.title, url)}{category}{marks}"
    if feed.title:
        yield _INDENT + cut(url, _LONGEST_URL)
    yield _INDENT + state_of(feed, time_zone, words)


def state_of(feed: Feed, time_zone: str, words: Words) -> str:
    """Return how a feed fares, in one sentence."""
    if feed.gone:
        return words.say("Its server says that it is gone for good.")
    if feed.failing_since is not None:
        return words.say(
            "It has failed since {moment}. {error}",
            moment=local(feed.failing_since, time_zone),
            error=cut(in_language(feed.error or "", words), _LONGEST_ERROR),
        ).strip()
    if feed.succeeded_at is None:
        return words.say("It has not been read yet.")
    return words.say("Last read {moment}.", moment=local(feed.succeeded_at, time_zone))


def trouble_lines(outcomes: Iterable[JobOutcome], words: Words) -> Iterator[str]:
    """Yield a line for each job that did not always end well."""
    troubles: dict[str, list[str]] = {}
    for one in outcomes:
        if one.outcome in _TROUBLE:
            said = f"{words.say(_TROUBLE[one.outcome])} {words.number(one.times)}"
            troubles.setdefault(one.job, []).append(said)
    for job, said_of_it in troubles.items():
        yield words.say(
            "In the last 7 days my job {job}: {troubles}.", job=job, troubles=", ".join(said_of_it)
        )


def title_of(title: str | None, url: str) -> str:
    """Return the name by which a feed is told of."""
    return cut(title or url, _LONGEST_TITLE if title else _LONGEST_URL)


def shown_category(category: str | None) -> str:
    """Return a category as it follows a feed's name; "" where there is none."""
    return f" ({category})" if category else ""


def local(moment: datetime, time_zone: str) -> str:
    """Return a moment in the chat's zone: "2026-11-22 09:05"."""
    return f"{moment.astimezone(zone_or_utc(time_zone)):%Y-%m-%d %H:%M}"

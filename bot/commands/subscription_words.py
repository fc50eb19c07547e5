"""A subscription in sentences, as people read it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from engine.feeds.feed import Feed
from engine.feeds.lookup import WELL_KNOWN
from engine.posting.delivery import EVERY_DAY, PostingMode, Subscription

_WEEKDAYS = (0, 1, 2, 3, 4)
_DAYS = (
    marked("Mondays"),
    marked("Tuesdays"),
    marked("Wednesdays"),
    marked("Thursdays"),
    marked("Fridays"),
    marked("Saturdays"),
    marked("Sundays"),
)
_LANGUAGES = {
    "ca": marked("Catalan"),
    "de": marked("German"),
    "en": marked("English"),
    "es": marked("Spanish"),
    "fr": marked("French"),
    "it": marked("Italian"),
    "pt": marked("Portuguese"),
}
_SOUNDS_LIKE_Y = re.compile(r"h?[ií](?![aeou])", re.IGNORECASE)
_MOST_FEEDS = 3
_LONGEST_FEED = 40


def say_city(zone: str) -> str:
    """Return the city of a time zone as people write it: "New York" of "America/New_York"."""
    return zone.rpartition("/")[2].replace("_", " ")


def join_with_and(items: Sequence[str], words: Words) -> str:
    """Return "a, b and c"; Spanish has "e" for "y" before the same sound: "Clarín e Infobae"."""
    if len(items) < 2:
        return "".join(items)
    several, last = ", ".join(items[:-1]), items[-1]
    if words.language == "es" and _SOUNDS_LIKE_Y.match(last):
        return f"{several} e {last}"
    return words.say("{several} and {last}", several=several, last=last)


def name_feeds(feeds: Iterable[Feed]) -> list[str]:
    """Return the names of feeds: that under which it is known, its title, or its host."""
    known = {feed.url: feed.title for feed in WELL_KNOWN}
    return [
        known.get(feed.url) or feed.title or urlsplit(feed.url).hostname or "?" for feed in feeds
    ]


def describe_subscription(
    subscription: Subscription, feeds: Sequence[str], words: Words
) -> list[str]:
    """Return sentences on what is posted in a chat and when; `feeds` are the names of its own."""
    of_whom = subscription.feeds or feeds
    named = _name_feeds(of_whom, words)
    if subscription.mode is PostingMode.OFF:
        return [words.say("I post nothing here unasked.")]
    if subscription.mode is PostingMode.INSTANT and of_whom:
        what = words.say("what was foretold of the news from {feeds}", feeds=named)
    elif subscription.mode is PostingMode.INSTANT:
        what = words.say("what was foretold of {feeds}", feeds=named)
    elif subscription.best == 1:
        what = words.say("the best of {feeds}", feeds=named)
    else:
        what = words.say("the best {number} of {feeds}", number=subscription.best, feeds=named)
    message = marked("{when} I post {what}, if they score {threshold} or more (of 6).")
    if subscription.threshold == 0:
        message = marked("{when} I post {what}.")
    elif subscription.mode is PostingMode.INSTANT or subscription.best == 1:
        message = marked("{when} I post {what}, if it scores {threshold} or more (of 6).")
    when = _say_when(subscription, words)
    said = words.say(message, when=when, what=what, threshold=subscription.threshold)
    return [said, *_say_filters(subscription, words), *_say_switches(subscription, words)]


def say_days(weekdays: Sequence[int], words: Words) -> str:
    """Return days as a sentence begins with them: "Every weekday", "On Mondays and Fridays"."""
    if tuple(weekdays) == EVERY_DAY:
        return words.say("Every day")
    if tuple(weekdays) == _WEEKDAYS:
        return words.say("Every weekday")
    days = join_with_and([words.say(_DAYS[day]) for day in weekdays], words)
    return words.say("On {days}", days=days)


def _say_when(subscription: Subscription, words: Words) -> str:
    days = say_days(subscription.weekdays, words)
    if subscription.mode is PostingMode.INSTANT:
        return words.say("{days}, as soon as I find something,", days=days)
    at = f"{subscription.at.hour}:{subscription.at:%M}"
    city = say_city(subscription.chat.time_zone)
    return words.say("{days} at {time} ({city})", days=days, time=at, city=city)


def _name_feeds(feeds: Sequence[str], words: Words) -> str:
    shown = [cut(name, _LONGEST_FEED) for name in feeds[:_MOST_FEEDS]]
    if len(feeds) > _MOST_FEEDS:
        beyond = words.number(len(feeds) - _MOST_FEEDS)
        shown.append(words.say("{number} more", number=beyond))
    return join_with_and(shown, words) or words.say("the news")


def _say_filters(subscription: Subscription, words: Words) -> Iterator[str]:
    filters = (
        (subscription.must, marked("Only news with one of these words: {values}.")),
        (subscription.must_not, marked("No news with any of these words: {values}.")),
        (_name_languages(subscription, words), marked("Only news in {values}.")),
        (subscription.categories, marked("Only news of these categories: {values}.")),
    )
    for values, message in filters:
        if values:
            yield words.say(message, values=", ".join(values))


def _name_languages(subscription: Subscription, words: Words) -> tuple[str, ...]:
    return tuple(words.say(_LANGUAGES.get(code, code)) for code in subscription.languages)


def _say_switches(subscription: Subscription, words: Words) -> Iterator[str]:
    if subscription.unjudged:
        share = f"{subscription.unjudged_coverage:.0%}"
        yield words.say(
            "Also what no model judged, if a tweet has {share} of the headline's words.",
            share=share,
        )
    if subscription.mode is PostingMode.DAILY:
        yield (
            words.say("When nothing was foretold, I say so.")
            if subscription.say_nothing_found
            else words.say("When nothing was foretold, I say nothing.")
        )
    if subscription.compose:
        yield words.say("After a daily post I draft a tweet about its first story.")
    if subscription.silent:
        yield words.say("Posts make no sound.")

"""Texts about feeds, jobs and finds that were not posted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from db.logs import JobOutcome, RunOutcome
from engine.chat import zone_or_utc
from engine.feeds.feed import Feed
from engine.posting.choose import LeftOut, Reason, Rejected, Unwanted, judgment_of
from engine.posting.delivery import Subscription
from engine.text.address import public_address

_LONGEST_TITLE, _LONGEST_URL, _LONGEST_ERROR = 80, 200, 200
_INDENT = "   "
_TROUBLE = {
    RunOutcome.FAILED: marked("failed"),
    RunOutcome.TIMED_OUT: marked("timed out"),
    RunOutcome.MISSED: marked("missed"),
    RunOutcome.SKIPPED: marked("skipped"),
}


def feed_lines(feed: Feed, time_zone: str, words: Words) -> Iterator[str]:
    """Yield the lines about one feed in a list: number, name, address and state."""
    everybody = words.say("for everybody")
    marks = f" · {everybody}" if feed.configured else ""
    category = shown_category(feed.category)
    # The address of a feed that everybody gets may hold the operator's token.
    url = public_address(feed.url) if feed.configured else feed.url
    yield f"{feed.id}. {title_of(feed.title, url)}{category}{marks}"
    if feed.title:
        yield _INDENT + cut(url, _LONGEST_URL)
    yield _INDENT + state_of(feed, time_zone, words)


def state_of(feed: Feed, time_zone: str, words: Words) -> str:
    """Return the state of a feed in one sentence."""
    if feed.gone:
        return words.say("Its server says that it is gone for good.")
    if feed.failing_since is not None:
        return words.say(
            "It has failed since {moment}. {error}",
            moment=local(feed.failing_since, time_zone),
            error=cut(words.render(feed.error or ""), _LONGEST_ERROR),
        ).strip()
    if feed.succeeded_at is None:
        return words.say("It has not been read yet.")
    return words.say("Last read {moment}.", moment=local(feed.succeeded_at, time_zone))


def trouble_lines(outcomes: Iterable[JobOutcome], words: Words) -> Iterator[str]:
    """Yield a line for each job with runs that failed, timed out or did not take place."""
    troubles: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.outcome in _TROUBLE:
            said = f"{words.say(_TROUBLE[outcome.outcome])} {words.number(outcome.times)}"
            troubles.setdefault(outcome.job, []).append(said)
    for job, said_of_it in troubles.items():
        yield words.say(
            "In the last 7 days my job {job}: {troubles}.", job=job, troubles=", ".join(said_of_it)
        )


def title_of(title: str | None, url: str) -> str:
    """Return the displayed name of a feed: its title, or its address."""
    return cut(title or url, _LONGEST_TITLE if title else _LONGEST_URL)


def shown_category(category: str | None) -> str:
    """Return a category in parentheses, to follow a feed's name, or "" if there is none."""
    return f" ({category})" if category else ""


def local(moment: datetime, time_zone: str) -> str:
    """Return a moment in the chat's zone: "2026-11-22 09:05"."""
    return f"{moment.astimezone(zone_or_utc(time_zone)):%Y-%m-%d %H:%M}"


_SAID: Mapping[Reason, str] = {
    Unwanted.OLD: marked("from before this chat subscribed"),
    Unwanted.CATEGORY: marked("of another category"),
    Unwanted.FEED: marked("of another feed"),
    Unwanted.LANGUAGE: marked("in another language"),
    Unwanted.WORD_MISSING: marked("none of the words that must occur"),
    Unwanted.WORD_PRESENT: marked("a word that must not occur"),
    Rejected.NOTHING_FOUND: marked("no tweet was found"),
    Rejected.BELOW_THRESHOLD: marked("judged {judgment} of 6, less than {threshold}"),
    Rejected.NOT_JUDGED: marked("not judged"),
    Rejected.TOO_LITTLE_IN_COMMON: marked("not judged, and too few words in common"),
    Rejected.STORY_POSTED: marked("posted before"),
    Rejected.TEXT_POSTED: marked("its tweet was posted before"),
    Rejected.BEYOND_BEST: marked("others are better"),
}
_SAID_OF_MANY: Mapping[Reason, str] = {
    Rejected.BELOW_THRESHOLD: marked("judged less than {threshold} of 6"),
}


def count_reasons(
    left_out: Iterable[LeftOut], subscription: Subscription, words: Words
) -> Iterator[str]:
    """Yield each reason why finds are not posted, with their number, the most frequent first."""
    for reason, number in Counter(find.reason for find in left_out).most_common():
        said = words.say(_SAID_OF_MANY.get(reason, _SAID[reason]), threshold=subscription.threshold)
        yield words.say("{number} more: {reason}", number=words.number(number), reason=said)


def reason_of(left_out: LeftOut, subscription: Subscription, words: Words) -> str:
    """Return why a find is not posted in the subscriber's chat."""
    message = _SAID[left_out.reason]
    if left_out.reason is not Rejected.BELOW_THRESHOLD:
        return words.say(message)
    prophecy = left_out.find.prophecy
    judgments = [judgment_of(hit) for hit in (*prophecy.hits, *prophecy.near)]
    best = max((judgment for judgment in judgments if judgment is not None), default=0)
    return words.say(message, judgment=best, threshold=subscription.threshold)

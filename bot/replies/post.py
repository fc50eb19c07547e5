"""A post as a reply: stories of the news, each with the old text that foretold it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from bot.i18n.words import Words
from bot.replies.buttons import post_buttons
from bot.replies.prophecy import hit_view, say_heading, say_how_found
from bot.reply import ItemView, Reply
from engine.chat import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class PostItem:
    """One story of a post. The page of its answer holds the single hit that is shown."""

    title: str
    link: str | None
    answer: Answer


def post_reply(
    items: Sequence[PostItem],
    words: Words,
    day: date | None = None,
    *,
    zone: tzinfo = UTC,
    platform: str = "",
    compact: bool = False,
    writes: bool = False,
) -> Reply:
    """Return the post, with a row of buttons for each item whose answer is stored.

    `day` is the local date of a daily post, `zone` that of its chat. `writes` says whether a model
    can write about it, `platform` where it is shown.
    """
    answers = [item.answer for item in items]
    views = []
    for number, item in enumerate(items, start=1):
        until = item.answer.prophecy.headline.date or item.answer.asked_at
        view = replace(hit_view(item.answer.page[0], until, words), rank=number)
        views.append(ItemView(headline=item.title, link=item.link, hit=view))
    title = _format_title(items, day, zone, words) if day else None
    unjudged = [
        item.answer.prophecy
        for item, view in zip(items, views, strict=True)
        if view.hit.label_unjudged
    ]
    return Reply(
        words=words,
        text=title,
        items=tuple(views),
        notice=say_how_found(unjudged[0], words) if unjudged else None,
        buttons=post_buttons(answers, {}, words, platform=platform, compact=compact, writes=writes),
    )


def _format_title(items: Sequence[PostItem], day: date, zone: tzinfo, words: Words) -> str:
    """Return the dates of the stories, as a post in the morning tells yesterday's, and what the
    texts are to them."""
    moments = [item.answer.prophecy.headline.date for item in items]
    dates = [moment.astimezone(zone).date() if moment else day for moment in moments]
    first, last = (write_day(date, words) for date in (min(dates), max(dates)))
    news = words.say("The news of {date}.", date=first)
    if first != last:
        news = words.say("The news from {first} to {last}.", first=first, last=last)
    heading = say_heading([item.answer.page[0] for item in items], words)
    nearest = words.say("Nearest by their words:")
    return f"{news} {heading}:" if heading else f"{news} {nearest}"


def say_nothing_found(day: date, words: Words, *, judged: bool = True) -> str:
    """Return what a daily post of that date says that has nothing to tell, or nothing `judged`."""
    since = write_day(day - timedelta(days=1), words)
    if not judged:
        return words.say(
            "The news since {date} was not judged: no language model answered.", date=since
        )
    return words.say("No old tweet foretold the news since {date}.", date=since)


def write_day(day: date, words: Words) -> str:
    """Return a local date written out in the language of `words`."""
    return words.date(datetime.combine(day, time(12), UTC))

"""/subscribe and /unsubscribe: when the bot posts in a chat, and how that is said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from bot.app import App
from bot.commands.archives import require_archive
from bot.commands.feeds import name_feeds
from bot.commands.registry import HELP_WORDS, Command, is_help
from bot.commands.rights import LOOKS, Act, Effect
from bot.commands.subscription_parser import (
    DAYS,
    SPANISH_NAMES,
    SPANISH_THRESHOLDS,
    THRESHOLD_LABELS,
    THRESHOLD_OPTION,
    as_typed,
    read_subscription,
)
from bot.i18n.words import LANGUAGES, Words, marked, words_for
from bot.replies.limits import cut
from bot.replies.post import write_day
from bot.reply import Action, Button, Reply
from bot.request import Request
from db.posting.feeds import Feeds
from db.posting.subscriptions import Subscriptions
from engine.chat import say_city, zone_or_utc
from engine.errors import UsageError
from engine.feeds.lookup import well_known_in
from engine.posting.delivery import EVERY_DAY, PostingMode, Subscription
from engine.posting.schedule import is_quiet, next_planned
from engine.prophecy.prophecy import NO_MODEL
from engine.search import HitKind

_EXAMPLES = (
    marked("/subscribe daily 8:30 weekdays mon-fri best 5"),
    marked("/subscribe instant threshold foretold must coffee, tea not football"),
    marked("/subscribe languages en, es categories news unjudged on nothing on"),
)
_OPTIONS = (
    marked("daily 9:00, instant or off: when I post."),
    marked("best N: at most so many in a daily post (1 to 10)."),
    THRESHOLD_OPTION,
    marked("weekdays mon-fri: only on these days."),
    marked("must A, B: only news with one of these words; not C: none with this one."),
    marked("languages en, es and categories news, tech: only such news."),
    marked("unjudged on: also what no model judged, if a tweet has most of the headline's words."),
    marked("coverage 70: how many of a hundred words that must be."),
    marked("nothing on: tell me also when there was nothing."),
    marked("compose on: draft a tweet about the first story of a daily post, for you to copy."),
    marked("here: posts go to this thread; chat: to the whole chat."),
    marked("topic ...: this topic has posts of its own, such as: topic feeds BBC daily 9:00."),
    marked("feeds BBC, Reuters: only news of feeds with such a name."),
    marked("silent on: posts make no sound."),
    marked("any takes a filter away, such as: must any."),
)
_ZONE_EXAMPLE = "/settings timezone Madrid"
_UNJUDGED = "/subscribe unjudged on"
_NAME = "subscribe"
_OFF = "off"
_TOPIC = frozenset(("topic", "tema"))
_BUTTONS = (
    (
        (marked("Every day at 9:00"), "daily 9:00"),
        (marked("At once"), "instant"),
        (marked("Off"), "off"),
    ),
    (
        (marked("The best one"), "best 1"),
        (marked("The best 3"), "best 3"),
        (marked("The best 5"), "best 5"),
    ),
    tuple((label, f"threshold {word}") for word, label in THRESHOLD_LABELS.items()),
)
# Whoever types what a button says means what it does.
_TYPED_BY_LABEL = {
    words_for(code).say(label).casefold(): typed
    for code in LANGUAGES
    for row in _BUTTONS
    for label, typed in row
}
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
_FEWEST_NAMED = 3  # days that are left out; of fewer, the others are not named
_LANGUAGES = {
    "ca": marked("Catalan"),
    "de": marked("German"),
    "en": marked("English"),
    "es": marked("Spanish"),
    "fr": marked("French"),
    "it": marked("Italian"),
    "pt": marked("Portuguese"),
}
_THRESHOLDS: Mapping[HitKind, str] = {
    HitKind.PREDICTION: marked("I post only what was foretold."),
    HitKind.DEMAND: marked("I post what was foretold or asked for."),
    HitKind.MIRROR: marked("I post what was foretold, asked for or held against others."),
    HitKind.EARLIER_CASE: marked("I post also what has happened before, once a week at most."),
}
_TYPED_WORD = re.compile(r"[a-z]+")
_IN_SPANISH = {
    **SPANISH_NAMES,
    **{threshold: name for name, threshold in SPANISH_THRESHOLDS.items()},
    **dict(zip(DAYS, ("lun", "mar", "mié", "jue", "vie", "sáb", "dom"), strict=True)),
    "on": "sí",
}
_SOUNDS_LIKE_Y = re.compile(r"h?[ií](?![aeou])", re.IGNORECASE)
_MAX_FEEDS, _LONGEST_FEED = 3, 40


def join_with_and(items: Sequence[str], words: Words) -> str:
    """Return "a, b and c"; Spanish has "e" for "y" before the same sound: "Clarín e Infobae"."""
    if len(items) < 2:
        return "".join(items)
    several, last = ", ".join(items[:-1]), items[-1]
    if words.language == "es" and _SOUNDS_LIKE_Y.match(last):
        return f"{several} e {last}"
    return words.say("{several} and {last}", several=several, last=last)


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
    when = _say_when(subscription, words)
    return [
        words.say("{when} I post {what}.", when=when, what=what),
        words.say(_THRESHOLDS[subscription.threshold]),
        *_say_filters(subscription, words),
        *_say_switches(subscription, words),
    ]


def type_in_words(subscription: Subscription, words: Words) -> str:
    """Return a subscription as it is typed in the language of the chat; what is quoted stays."""
    parts = as_typed(subscription).split('"')
    if words.language == "es":
        parts[::2] = [
            _TYPED_WORD.sub(lambda match: _IN_SPANISH.get(match[0], match[0]), part)
            for part in parts[::2]
        ]
    return '"'.join(parts)


def say_days(weekdays: Sequence[int], words: Words) -> str:
    """Return days as a sentence begins with them: "Every weekday", "On Mondays and Fridays"."""
    if tuple(weekdays) == EVERY_DAY:
        return words.say("Every day")
    if tuple(weekdays) == _WEEKDAYS:
        return words.say("Every weekday")
    left_out = [day for day in EVERY_DAY if day not in weekdays]
    named = left_out if len(left_out) < _FEWEST_NAMED else weekdays
    days = join_with_and([words.say(_DAYS[day]) for day in named], words)
    if named is left_out:
        return words.say("Every day except {days}", days=days)
    return words.say("On {days}", days=days)


def _say_when(subscription: Subscription, words: Words) -> str:
    days = say_days(subscription.weekdays, words)
    if subscription.mode is PostingMode.INSTANT:
        return words.say("{days}, as soon as I find something,", days=days)
    at = f"{subscription.at.hour}:{subscription.at:%M}"
    city = words.say(say_city(subscription.chat.time_zone))
    return words.say("{days} at {time} ({city})", days=days, time=at, city=city)


def _name_feeds(feeds: Sequence[str], words: Words) -> str:
    names = [cut(name, _LONGEST_FEED) for name in feeds[:_MAX_FEEDS]]
    if len(feeds) > _MAX_FEEDS:
        beyond = words.number(len(feeds) - _MAX_FEEDS)
        names.append(words.say("{number} more", number=beyond))
    return join_with_and(names, words) or words.say("the news")


def _say_filters(subscription: Subscription, words: Words) -> Iterator[str]:
    languages = [words.say(_LANGUAGES.get(code, code)) for code in subscription.languages]
    filters = (
        (subscription.must, marked("Only news with one of these words: {values}.")),
        (subscription.must_not, marked("No news with any of these words: {values}.")),
        (languages, marked("Only news in {values}.")),
        (subscription.categories, marked("Only news of these categories: {values}.")),
    )
    for values, message in filters:
        if values:
            yield words.say(message, values=", ".join(values))


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


async def subscription_here(request: Request, app: App) -> Subscription | None:
    """Return the subscription of the topic that the request is from, else of its chat, or None."""
    chat, topic = request.known_chat, request.place.thread
    own = await Subscriptions(app.database).get(chat, topic) if topic else None
    return own or await Subscriptions(app.database).get(chat)


async def _subscribe(request: Request, app: App) -> Reply:
    wanted = is_help(request.text)
    if request.text and not wanted:
        return await _change_subscription(request, app, request.text)
    subscription = await subscription_here(request, app)
    reply = await _show_subscription(request, subscription, app, help_wanted=wanted)
    if wanted:
        return reply
    help_ = request.words.write_commands(f"/{_NAME} help")
    more = request.words.say("{help} explains what can be set.", help=help_)
    return replace(reply, text=f"{reply.text}\n{more}")


async def _press_schedule(request: Request, action: Action, app: App) -> Reply:
    reply = await _change_subscription(request, app, action.value)
    return replace(reply, replaces=True, toast=reply.words.say("Noted."))


async def _change_subscription(request: Request, app: App, text: str) -> Reply:
    """Change the chat's subscription and show it.

    Unless the chat has chosen a language, posts are in that of whoever subscribes it. Raises
    UsageError, and CorpusNotFound if the chat has no archive that posts could come from.
    """
    words = request.words
    text = _TYPED_BY_LABEL.get(text.casefold().rstrip("."), text)
    subscription = await _read_subscription(request, text, app)
    if subscription.mode is not PostingMode.OFF:
        await require_archive(request, app)
        if not await request.inquiries.may_post():
            raise UsageError(
                words.say(
                    "I can answer here, but post nothing before I am a member: /invite @Presagio,"
                    " then write this again."
                )
            )
    chat = replace(request.known_chat, asked_in=words.language)
    if not subscription.topic:  # it means the same wherever something is said unasked
        chat = replace(chat, threshold=subscription.threshold)
    await app.chats.change(chat)
    stored = await Subscriptions(app.database).set(subscription, now=request.now)
    return await _show_subscription(request, stored, app, help_wanted=False)


async def _read_subscription(request: Request, text: str, app: App) -> Subscription:
    """Return the subscription with what `text` changes. Raises UsageError.

    "topic" at the beginning makes one for the topic alone, which what follows then is about.
    """
    chat, here, words = request.known_chat, request.place.thread, request.words
    before = await subscription_here(request, app)
    first, _, rest = text.partition(" ")
    if first.lower() in _TOPIC:
        if not here:
            raise UsageError(
                words.say("/subscribe topic is for topics and threads: write it in one.")
            )
        text = rest.strip()
        if before is None or not before.topic:
            before = Subscription(chat=chat, mode=PostingMode.DAILY, topic=here, thread=here)
    start = Subscription(chat=chat, thread=here, threshold=chat.threshold)
    subscription = read_subscription(text, before, start, words)
    return replace(subscription, thread=subscription.topic or subscription.thread)


async def _show_subscription(
    request: Request, subscription: Subscription | None, app: App, *, help_wanted: bool
) -> Reply:
    words = request.words
    feeds = name_feeds(await Feeds(app.database).of_chat(request.known_chat))
    lines = _describe_posting(subscription, feeds, request)
    # What prevents a post is told next to when it comes, which "In this topic:" may precede.
    after = 2 if subscription and subscription.topic else 1
    lines[after:after] = await list_obstacles(request, subscription, app)
    if help_wanted:
        if subscription:
            typed = words.write_commands(f"/{_NAME} {type_in_words(subscription, words)}")
            lines += ["", words.say("As you would type it: {subscription}", subscription=typed)]
        lines += ["", *map(words.say, _OPTIONS)]
        lines += ["", words.say("For example:"), *map(words.say, _EXAMPLES)]
    return Reply(
        words=words,
        text="\n".join(lines),
        buttons=_subscription_buttons(subscription, words),
        ephemeral=True,
    )


def _describe_posting(
    subscription: Subscription | None, feeds: Sequence[str], request: Request
) -> list[str]:
    words = request.words
    if subscription is None or subscription.mode is PostingMode.OFF:
        return [words.say("This chat is told nothing unasked.")]
    lines = describe_subscription(subscription, feeds, words)
    if subscription.topic:
        lines.insert(0, words.say("In this topic:"))
    if feeds and (next_post := said_next(subscription, request)):
        lines.append(next_post)
    if subscription.thread is not None and not subscription.topic:
        lines.append(words.say("Posts go to one thread; /subscribe chat moves them out of it."))
    if subscription.mode is PostingMode.DAILY and subscription.chat.time_zone == "UTC":
        lines.append(
            words.say(
                "Times are UTC here; another zone: {example}",
                example=words.write_commands(_ZONE_EXAMPLE),
            )
        )
    return lines


def said_next(subscription: Subscription, request: Request) -> str | None:
    """Return a sentence about the next post to the chat, or None if none is planned."""
    words = request.words
    if subscription.mode is PostingMode.INSTANT:
        if is_quiet(subscription.chat, request.now):
            return words.say("Each find is posted once the quiet hours are over.")
        return words.say("Each find is posted as soon as it is made.")
    moment = next_planned(subscription, request.now)
    if moment is None:
        return None
    local = moment.astimezone(zone_or_utc(subscription.chat.time_zone))
    return words.say(
        "Next post: {date}, {time} ({zone}).",
        date=write_day(local.date(), words),
        time=f"{local:%H:%M}",
        zone=words.say(say_city(subscription.chat.time_zone)),
    )


def say_no_feed(words: Words) -> str:
    """Return what to do where a chat is subscribed to nothing."""
    example = words.write_commands(f"/feeds add {well_known_in(words.language)[0].name}")
    return words.say(
        "No feed is chosen: I post nothing until there is one. {example} adds one.", example=example
    )


async def list_obstacles(
    request: Request, subscription: Subscription | None, app: App
) -> list[str]:
    """Return lines on what prevents posts to a subscribed chat."""
    if subscription is None or subscription.mode is PostingMode.OFF:
        return []
    words, lines = request.words, []
    feeds = await Feeds(app.database).of_chat(request.known_chat)
    if not feeds:
        lines.append(say_no_feed(words))
    elif all(feed.gone for feed in feeds):
        lines.append(words.say("No feed of this chat exists any more; /feeds add brings another."))
    if not app.settings.has_model() and not subscription.unjudged:
        unless = words.say(
            "So nothing is posted, unless: {example}", example=words.write_commands(_UNJUDGED)
        )
        lines.append(f"{words.render(NO_MODEL)} {unless}")
    if subscription.compose and not app.settings.has_model():
        lines.append(words.say("No tweet is drafted: no language model is set up."))
    return lines


def _subscription_buttons(
    subscription: Subscription | None, words: Words
) -> tuple[tuple[Button, ...], ...]:
    """Return the buttons, without those that would change nothing."""
    subscribed = subscription is not None and subscription.mode is not PostingMode.OFF
    return tuple(
        tuple(
            Button(label=words.say(label), action=Action(name=_NAME, value=value))
            for label, value in row
            if not (
                subscription
                and subscribed
                and read_subscription(value, subscription, subscription, words) == subscription
            )
        )
        for row in (_BUTTONS if subscribed else (_BUTTONS[0][:2],))
    )


SUBSCRIBE = Command(
    name=_NAME,
    summary=marked("when I post by myself what was foretold, and of which news"),
    usage=marked("/subscribe [daily HH:MM, instant, off] [OPTIONS]"),
    example=_EXAMPLES[0],
    details=_OPTIONS,
    for_channels=True,
    handler=_subscribe,
    act=Act(Effect.STEERS_CHAT),
    acts=dict.fromkeys(HELP_WORDS, LOOKS),
    actions={_NAME: _press_schedule},
)
UNSUBSCRIBE = Command(
    name="unsubscribe",
    summary=marked("post nothing unasked any more"),
    usage="/unsubscribe",
    example="/unsubscribe",
    for_channels=True,
    handler=partial(_change_subscription, text=_OFF),
    act=Act(Effect.STEERS_CHAT),
)

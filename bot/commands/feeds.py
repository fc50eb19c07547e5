"""/feeds: lists, adds, removes and tests the feeds of a chat, and says how they are."""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bot.app import App
from bot.commands.registry import Command, too_old
from bot.commands.rights import LOOKS, Act, Effect
from bot.feed_service import FeedService
from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply
from bot.request import Request
from db.posting.feeds import Feeds
from db.posting.subscriptions import Subscriptions
from engine.chat import format_local_time
from engine.errors import UsageError
from engine.feeds.feed import Feed
from engine.feeds.lookup import WELL_KNOWN, FoundFeed, ReadableFeed, well_known_in, write_opml
from engine.posting.delivery import PostingMode
from engine.text.address import public_address, read_host

_LONGEST_MESSAGE = 7500  # characters; Slack shows no more in one message
_LONGEST_TITLE, _LONGEST_URL, _LONGEST_ERROR = 80, 200, 200
_INDENT = "   "
_LONGEST_CATEGORY = 60
_MAX_OFFERED = 8
_SHOWN_HEADLINES = 3
_LONGEST_HEADLINE, _LONGEST_ECHO = 150, 40
_EXAMPLE = "/feeds add https://www.theguardian.com/world/rss news"
# Counted in quotas, so that nobody makes the bot send requests to other hosts endlessly.
_READS_WEB = Act(Effect.STEERS_CHAT, counted=True, slow=True)
_STEERS = Act(Effect.STEERS_CHAT)


class _Verb(NamedTuple):
    """What a verb of /feeds does, and an example where something has to follow it."""

    handler: Callable[[Request, str, App], Awaitable[Reply]]
    act: Act
    example: str = ""


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
            moment=format_local_time(feed.failing_since, time_zone),
            error=cut(words.render(feed.error or ""), _LONGEST_ERROR),
        ).strip()
    if feed.succeeded_at is None:
        return words.say("It has not been read yet.")
    return words.say("Last read {moment}.", moment=format_local_time(feed.succeeded_at, time_zone))


def title_of(title: str | None, url: str) -> str:
    """Return the displayed name of a feed: its title, or its address."""
    return cut(title or url, _LONGEST_TITLE if title else _LONGEST_URL)


def name_feeds(feeds: Iterable[Feed]) -> list[str]:
    """Return the names of feeds that are not gone: that under which it is known, its title, or its
    host."""
    titles = {feed.url: feed.title for feed in WELL_KNOWN}
    return [
        titles.get(feed.url) or feed.title or read_host(feed.url) or "?"
        for feed in feeds
        if not feed.gone
    ]


def shown_category(category: str | None) -> str:
    """Return a category in parentheses, to follow a feed's name, or "" if there is none."""
    return f" ({category})" if category else ""


async def _import_feeds(request: Request, text: str, app: App) -> Reply:
    """Add the feeds of an OPML list, given as text or URL. Raises FetchError, InputError."""
    words, listed = request.words, await app.feed_lookup().read_list(text)
    result = await _open_feeds(app).import_feeds(request.known_chat, listed, now=request.now)
    sentences = [
        words.count("{number} feed was added.", "{number} feeds were added.", result.added)
    ]
    if result.present:
        sentences.append(words.count("{number} was there.", "{number} were there.", result.present))
    if result.left_out:
        sentences.append(
            words.count(
                "{number} was left out: a chat may add {maximum} feeds.",
                "{number} were left out: a chat may add {maximum} feeds.",
                result.left_out,
                maximum=app.settings.polling.feeds_per_chat,
            )
        )
    return Reply(words=words, text=" ".join(sentences), ephemeral=True)


async def _export_feeds(request: Request, _: str, app: App) -> Reply:
    """Return the chat's feeds as an OPML list. Raises UsageError if there are none.

    Feeds that everybody gets are included only if their address holds no secret.
    """
    words, chat = request.words, request.known_chat
    listed = await _open_feeds(app).export(chat, secrets=False, now=request.now)
    if not listed:
        raise UsageError(words.say("This chat has no feed yet."))
    text = write_opml(listed, title="Presagio").decode()
    if len(text) > _LONGEST_MESSAGE:
        raise UsageError(
            words.say(
                "The list is too long for a message. Who runs the bot gets it with: {command}",
                command=f"presagio feeds export --chat {chat.key}",
            )
        )
    return Reply(words=words, text=text, ephemeral=True)


async def _handle_feeds(request: Request, app: App) -> Reply:
    words, (name, rest) = request.words, (*request.text.split(maxsplit=1), "", "")[:2]
    if not name or name.lower() == "list":
        return await _list_feeds(request, app)
    verb = _VERBS.get(name.lower())
    if verb is None:
        raise UsageError(
            words.say(
                "/feeds knows no {verb}. There are: {known}. For example: {example}",
                verb=cut(name, _LONGEST_ECHO),
                known=", ".join(("list", *_VERBS)),
                example=words.write_commands(_EXAMPLE),
            )
        )
    if verb.example and not rest:
        example = words.write_commands(verb.example)
        raise UsageError(words.say("For example: {example}", example=example))
    return await verb.handler(request, rest.strip(), app)


async def _list_feeds(request: Request, app: App) -> Reply:
    words, chat = request.words, request.known_chat
    feeds = await Feeds(app.database).of_chat(chat)
    lines = [words.say("Feeds of this chat:") if feeds else words.say("This chat has no feed yet.")]
    lines += [line for feed in feeds for line in feed_lines(feed, chat.time_zone, words)]
    offers = well_known_in(words.language)
    by_url, by_name = (
        words.write_commands(f"/feeds add {feed}") for feed in (offers[0].url, offers[0].name)
    )
    named = ", ".join(feed.name for feed in offers)
    lines += ["", words.say("For example: {example}", example=by_url)]
    lines.append(words.say("By name: {names}, such as {example}", names=named, example=by_name))
    return Reply(words=words, text="\n".join(lines), ephemeral=True)


async def _add_feed(request: Request, rest: str, app: App) -> Reply:
    address, _, written = rest.partition(" ")
    category = cut(" ".join(written.split()), _LONGEST_CATEGORY)
    candidates = await _open_feeds(app).look_up(address)
    if isinstance(candidates, ReadableFeed):
        return await _follow_feed(request, candidates, category, app)
    return await _offer_feeds(request, candidates, category, app)


async def _follow_feed(request: Request, found: ReadableFeed, category: str, app: App) -> Reply:
    """Add a feed that has just been read to the chat. Raises UsageError if it has too many."""
    words, chat = request.words, request.known_chat
    is_new = await _open_feeds(app).add(chat, found.named(category), now=request.now)
    name = title_of(found.parsed.title, found.url) + shown_category(category)
    if is_new:
        sentences = [words.say("{feed} was added.", feed=name)]
        sentences.append(words.say("What it brings from now on counts as news."))
    else:
        sentences = [words.say("This chat gets {feed}.", feed=name)]
    subscription = await Subscriptions(app.database).get(chat)
    if subscription is None or subscription.mode is PostingMode.OFF:
        sentences.append(words.say("/subscribe daily 9:00 lets me post what was foretold."))
    return Reply(words=words, text=" ".join(sentences), ephemeral=True)


def _open_feeds(app: App) -> FeedService:
    return FeedService(app, app.settings.polling.feeds_per_chat)


async def _offer_feeds(
    request: Request, feeds: Sequence[FoundFeed], category: str, app: App
) -> Reply:
    words, offered = request.words, feeds[:_MAX_OFFERED]
    numbers = await Feeds(app.database).offer([feed.url for feed in offered], now=request.now)
    lines = [words.say("This page names several feeds. Which one shall I add?")]
    buttons = []
    for place, feed in enumerate(offered, start=1):
        title = title_of(feed.title, feed.url)
        lines.append(f"{place}. {title}: {feed.url}" if feed.title else f"{place}. {feed.url}")
        value = _offer_value(numbers[feed.url], feed.url, category)
        buttons.append(
            (Button(label=f"{place}. {title}", action=Action(name="feed", value=value)),)
        )
    return Reply(words=words, text="\n".join(lines), buttons=tuple(buttons), ephemeral=True)


def _offer_value(number: int, url: str, category: str) -> str:
    """Return the value of the button of an offered feed, without the category if it is too long.

    The hash of the address proves that it was offered to whoever presses the button, since other
    chats' addresses may be private.
    """
    value = f"{number}.{_hash_url(url)}"
    with_category = f"{value}.{category}" if category else value
    return with_category if Action.fits(f"feed::{with_category}") else value


def _hash_url(url: str) -> str:
    return hashlib.blake2b(url.encode(), digest_size=8).hexdigest()


async def _choose_feed(request: Request, action: Action, app: App) -> Reply:
    number, _, rest = action.value.partition(".")
    digest, _, category = rest.partition(".")
    is_number = number.isascii() and number.isdigit() and len(number) < 19
    url = await Feeds(app.database).find_offered(int(number)) if is_number else None
    if url is None or digest != _hash_url(url):
        return too_old(request)
    candidates = await _open_feeds(app).look_up(url)
    if not isinstance(candidates, ReadableFeed):
        return too_old(request)
    reply = await _follow_feed(request, candidates, category, app)
    return replace(reply, replaces=True)


async def _remove_feed(request: Request, rest: str, app: App) -> Reply:
    words, chat = request.words, request.known_chat
    number = rest.removesuffix(".")
    is_number = number.isascii() and number.isdigit() and len(number) < 19
    which = int(number) if is_number else rest
    if await _open_feeds(app).remove(chat, which, now=request.now):
        return Reply(words=words, text=words.say("The feed was removed."), ephemeral=True)
    known_urls = {
        address
        for feed in await Feeds(app.database).of_chat(chat)
        for address in (feed.id, feed.url)
    }
    if which in known_urls:
        text = words.say("Everybody gets this feed; only who runs the bot can remove it.")
    else:
        text = words.say("This chat has no such feed; /feeds lists them with their numbers.")
    raise UsageError(text)


async def _test_feed(request: Request, rest: str, app: App) -> Reply:
    words = request.words
    candidates = await _open_feeds(app).look_up(rest)
    if not isinstance(candidates, ReadableFeed):
        lines = [words.say("This page names several feeds:")]
        lines += [f"- {feed.url}" for feed in candidates]
        return Reply(words=words, text="\n".join(lines), ephemeral=True)
    entries = candidates.parsed.entries
    title = title_of(candidates.parsed.title, candidates.url)
    lines = [
        words.count(
            "{feed} can be read and holds {number} entry.",
            "{feed} can be read and holds {number} entries.",
            len(entries),
            feed=title,
        ),
        candidates.url,
    ]
    lines += [
        f"- {cut(entry.title or entry.summary, _LONGEST_HEADLINE)}"
        for entry in entries[:_SHOWN_HEADLINES]
    ]
    return Reply(words=words, text="\n".join(lines), ephemeral=True)


_VERBS: Mapping[str, _Verb] = {
    "add": _Verb(_add_feed, _READS_WEB, _EXAMPLE),
    "remove": _Verb(_remove_feed, _STEERS, "/feeds remove 12"),
    "test": _Verb(_test_feed, _READS_WEB, "/feeds test https://www.theguardian.com/world"),
    "import": _Verb(_import_feeds, _READS_WEB, "/feeds import https://example.org/feeds.opml"),
    "export": _Verb(_export_feeds, _STEERS),
}
FEEDS = Command(
    name="feeds",
    summary=marked("the feeds that I read for this chat; admins add and remove them"),
    usage=marked("/feeds [add, remove, test, import, export]"),
    example=_EXAMPLE,
    for_channels=True,
    handler=_handle_feeds,
    act=_STEERS,
    acts={"": LOOKS, "list": LOOKS, **{name: verb.act for name, verb in _VERBS.items()}},
    actions={"feed": _choose_feed},
    pressed={"feed": _READS_WEB},
)

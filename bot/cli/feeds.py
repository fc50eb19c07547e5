"""`presagio feeds`: the arguments of its commands."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Csv, Json, now, settings_of, text, with_app
from bot.console.screen import Output
from bot.conversation.wiring import open_news_services
from bot.jobs.wiring import configured_feeds
from db.chat.chats import Chats
from db.posting.feeds import Feeds, SharedFeeds
from engine.chat import Chat
from engine.errors import InputError, PresagioError
from engine.feeds.feed import Feed, FeedHealth
from engine.feeds.lookup import FoundFeed, OpmlFeed, ReadableFeed, address_of, read_list, write_opml
from engine.fetch.client import Fetcher
from engine.text.address import public_address

_LONGEST = 60  # characters of a name
_STDIN = "-"
_SHOWN = 5
_LONGEST_FILE = 10_000_000  # bytes
ChatName = Annotated[
    str, typer.Option("--chat", help="Of one chat alone, such as telegram:-1001234.", callback=text)
]
Url = Annotated[str, typer.Argument(help="Address of the feed.", callback=text)]
Page = Annotated[
    str, typer.Argument(help="Address of the feed, or of a page that names it.", callback=text)
]
commands = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Show how the feeds fare, add and remove them.\n\n"
    "Without --chat this is about the feeds that everybody gets: those of [[feeds]] in the"
    " settings, which are changed there, and those added here, which the database keeps.\n\n"
    "Example: presagio feeds",
)


def feed_row(health: FeedHealth, url: str) -> dict[str, object]:
    """Return the state of a feed as a JSON object."""
    feed = health.feed
    return {
        "id": feed.id,
        "url": url,
        "title": feed.title,
        "category": feed.category,
        "everybody": feed.configured,
        "chats": health.chats,
        "state": _state(feed),
        "last_success": feed.succeeded_at,
        "next_poll": None if feed.gone else feed.next_poll_at,
        "failures": feed.failures,
        "failing_since": feed.failing_since,
        "headlines_a_day": round(health.headlines_a_day, 2),
        "error": feed.error,
    }


def _state(feed: Feed) -> str:
    if feed.gone:
        return "gone"
    if feed.failing_since is not None:
        return "failing"
    return "ok" if feed.is_primed else "new"


def feed_cells(row: dict[str, object]) -> dict[str, object]:
    """Return a row formatted for people, with times in UTC."""
    name = str(row["title"] or row["url"])
    return {
        "feed": name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…",
        "category": row["category"],
        "for": "everybody" if row["everybody"] else f"{row['chats']} chats",
        "state": row["state"],
        "last success": _moment(row["last_success"]),
        "next poll": _moment(row["next_poll"]),
        "failures": row["failures"],
        "a day": str(row["headlines_a_day"]),
        "error": row["error"],
    }


def _moment(value: object) -> str:
    return f"{value:%Y-%m-%d %H:%M}Z" if isinstance(value, datetime) else "-"


if TYPE_CHECKING:
    from bot.app import App


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCommand:
    """Whose feeds, and how to write them. `chat` is "platform:id", or "" for everybody's feeds."""

    app: "App"
    output: Output
    json: bool
    now: datetime
    csv: bool = False
    chat: str = ""


async def list_feeds(command: FeedCommand) -> None:
    """Write one row per feed."""
    rows = [feed_row(read, _shown_url(command, read.feed)) for read in await _healths(command)]
    command.output.rows(
        rows,
        shown=[feed_cells(row) for row in rows],
        json=command.json,
        csv=command.csv,
        none="There is no feed yet. Add one with: presagio feeds add URL",
    )


async def add_feed(command: FeedCommand, address: str, *, category: str) -> None:
    """Look up an address and add its feed for everybody or the chat. Raises FetchError."""
    chat = await _chat(command)
    found = await _looked_up(command, address)
    if not isinstance(found, ReadableFeed):
        _write_found(command, found)
        raise PresagioError("The page names several feeds.", fix="Add one of them.")
    await _add(command, chat, found.url, category or None)
    title = found.parsed.title
    command.output.tell(
        {"added": found.url, "title": title, "category": category or None},
        f"Added {title or found.url}. What it brings from now on is news.",
        json=command.json,
    )


async def remove_feed(command: FeedCommand, url: str) -> None:
    """Remove a feed from everybody or from the chat. Raises InputError if it is not there."""
    chat = await _chat(command)
    if chat is not None:
        removed = await Feeds(command.app.database).remove(chat, url)
    else:
        removed = await SharedFeeds(command.app.database).remove(url)
        await _store_configured(command)
    if not removed:
        raise _not_there(command, url)
    command.output.tell({"removed": url}, f"Removed {url}.", json=command.json)


async def test_feed(command: FeedCommand, address: str) -> None:
    """Fetch a feed, or a page that links to it, and write its entries. Raises FetchError."""
    found = await _looked_up(command, address)
    if not isinstance(found, ReadableFeed):
        _write_found(command, found)
        return
    parsed = found.parsed
    titles = [entry.title for entry in parsed.entries[:_SHOWN]]
    if command.json:
        row = {"url": found.url, "title": parsed.title, "language": parsed.language}
        command.output.json(
            row | {"ttl": parsed.ttl, "entries": len(parsed.entries), "first": titles}
        )
        return
    command.output.line(f"{parsed.title or found.url}: {len(parsed.entries):,} entries")
    command.output.line(found.url)
    for title in titles:
        command.output.line(f"- {title}")


async def import_feeds(command: FeedCommand, file: str) -> None:
    """Add the feeds of an OPML file; "-" is standard input. Raises InputError."""
    chat = await _chat(command)
    body = await asyncio.to_thread(_bytes_of, file)
    feeds = await read_list(command.app.isolation, body)
    known = {feed.url for feed in await _list_feeds_of(command)}
    new = [feed for feed in feeds if feed.url not in known]
    for feed in new:
        await _add(command, chat, feed.url, feed.category)
    command.output.tell(
        {"added": len(new), "there": len(feeds) - len(new)},
        f"Added {len(new):,} feeds; {len(feeds) - len(new):,} were there.",
        json=command.json,
    )


async def export_feeds(command: FeedCommand) -> None:
    """Write the feeds as OPML."""
    feeds = await _list_feeds_of(command)
    listed = [OpmlFeed(url=feed.url, title=feed.title, category=feed.category) for feed in feeds]
    command.output.exact(write_opml(listed, title="Presagio").decode())


async def _healths(command: FeedCommand) -> list[FeedHealth]:
    """Return all feeds, or those that the chat gets, with their health."""
    await _store_configured(command)
    feeds, chat = Feeds(command.app.database), await _chat(command)
    found = await feeds.health(now=command.now)
    if chat is None:
        return found
    own = {feed.id for feed in await feeds.of_chat(chat)}
    return [health for health in found if health.feed.id in own]


async def _list_feeds_of(command: FeedCommand) -> list[Feed]:
    """Return the feeds that everybody gets, or those of the chat.

    The former exclude chats' own feeds, which must not become everybody's when the list is
    imported elsewhere.
    """
    feeds = [health.feed for health in await _healths(command)]
    return feeds if command.chat else [feed for feed in feeds if feed.configured]


async def _store_configured(command: FeedCommand) -> None:
    await Feeds(command.app.database).configure_feeds(
        configured_feeds(command.app.settings), now=command.now
    )


async def _add(command: FeedCommand, chat: Chat | None, url: str, category: str | None) -> None:
    if chat is not None:
        await Feeds(command.app.database).add(chat, url, category=category, now=command.now)
        return
    await SharedFeeds(command.app.database).add(url, category=category, now=command.now)
    await _store_configured(command)


async def _chat(command: FeedCommand) -> Chat | None:
    return await chat_named(command.app, command.chat) if command.chat else None


async def chat_named(app: "App", name: str) -> Chat:
    """Return the chat "platform:id". Raises InputError if the bot does not know it."""
    platform, _, external_id = name.partition(":")
    chat = await Chats(app.database).find_chat(platform, external_id)
    if chat is None:
        raise InputError(
            f"There is no chat {name}.",
            fix="Name one that the bot has met, such as telegram:-1001234.",
        )
    return chat


async def _looked_up(command: FeedCommand, address: str) -> ReadableFeed | tuple[FoundFeed, ...]:
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(Fetcher(command.app.settings.fetch))
        news = await stack.enter_async_context(open_news_services(command.app, fetcher))
        return await news.look_up(address_of(address))


def _write_found(command: FeedCommand, found: Sequence[FoundFeed]) -> None:
    for feed in found:
        command.output.tell(
            {"url": feed.url, "title": feed.title},
            f"{feed.url}  {feed.title or ''}".rstrip(),
            json=command.json,
        )


def _not_there(command: FeedCommand, url: str) -> InputError:
    if url in (feed.url for feed in configured_feeds(command.app.settings)):
        return InputError(f"{url} is in the settings.", fix="Take it out of [[feeds]] there.")
    whose = f"Of {command.chat}" if command.chat else "Of everybody's feeds"
    return InputError(f"{whose}, none is at {url}.", fix="See: presagio feeds")


def _bytes_of(file: str) -> bytes:
    """Read a file up to the size limit of a list of feeds. Raises InputError."""
    try:
        if file == _STDIN:
            return sys.stdin.buffer.read(_LONGEST_FILE)
        with Path(file).open("rb") as opened:
            return opened.read(_LONGEST_FILE)
    except OSError as exc:
        raise InputError(f"{file} cannot be read: {exc.strerror}.") from exc


def _shown_url(command: FeedCommand, feed: Feed) -> str:
    """Return the address of a feed, without secrets unless it is everybody's or --chat is set."""
    return feed.url if feed.configured or command.chat else public_address(feed.url)


@commands.callback()
def feeds_alone(context: typer.Context, json: Json = False, csv: Csv = False) -> None:
    """List the feeds when no command is named."""
    if context.invoked_subcommand is None:
        feeds_list(context, json=json, csv=csv)


@commands.command("list")
def feeds_list(
    context: typer.Context, chat: ChatName = "", json: Json = False, csv: Csv = False
) -> None:
    """List all feeds, or those that one chat gets, with how they fare.

    Example: presagio feeds list --json
    """

    _run(context, list_feeds, chat=chat, json=json, csv=csv)


@commands.command("add")
def feeds_add(
    context: typer.Context,
    url: Page,
    category: Annotated[
        str, typer.Option("--category", help="Any word, such as news or tech.", callback=text)
    ] = "",
    chat: ChatName = "",
    json: Json = False,
) -> None:
    """Let everybody get a feed, or one chat. It is read once to see that it is one.

    Example: presagio feeds add https://example.org/rss --category news
    """

    _run(context, lambda command: add_feed(command, url, category=category), chat=chat, json=json)


@commands.command("remove")
def feeds_remove(context: typer.Context, url: Url, chat: ChatName = "", json: Json = False) -> None:
    """Take a feed away that was added here, or in one chat.

    Example: presagio feeds remove https://example.org/rss
    """

    _run(context, lambda command: remove_feed(command, url), chat=chat, json=json)


@commands.command("test")
def feeds_test(context: typer.Context, url: Page, json: Json = False) -> None:
    """Fetch a feed, or find it on a page, and show what it holds. Nothing is stored.

    Example: presagio feeds test https://example.org
    """

    _run(context, lambda command: test_feed(command, url), json=json)


@commands.command("import")
def feeds_import(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="An OPML file; - is standard input.")],
    chat: ChatName = "",
    json: Json = False,
) -> None:
    """Add the feeds of an OPML file, as feed readers export it. Folders are categories.

    Example: presagio feeds import feeds.opml
    """

    _run(context, lambda command: import_feeds(command, file), chat=chat, json=json)


@commands.command("export")
def feeds_export(context: typer.Context, chat: ChatName = "") -> None:
    """Print the feeds that everybody or one chat gets, as OPML.

    Example: presagio feeds export
    """

    _run(context, export_feeds, chat=chat)


def _run(
    context: typer.Context,
    work: "Callable[[FeedCommand], Awaitable[None]]",
    *,
    chat: str = "",
    json: bool = False,
    csv: bool = False,
) -> None:
    output, moment = Output.of_process(), now()
    with_app(
        settings_of(context),
        lambda opened: work(
            FeedCommand(app=opened, output=output, json=json, csv=csv, now=moment, chat=chat)
        ),
    )

"""`presagio feeds`: lists, adds, removes and tests feeds; reads and writes lists of them."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import (
    Csv,
    Json,
    TextArgument,
    TextOption,
    app_command,
    read_clock,
    read_input,
    run_in_app,
)
from bot.console.screen import Output
from bot.feed_service import FeedService, configured_feeds
from db.chat.chats import Chats
from engine.chat import Chat
from engine.errors import InputError, PresagioError
from engine.feeds.feed import FeedHealth
from engine.feeds.lookup import FoundFeed, ReadableFeed, read_list, write_opml
from engine.text.address import public_address

if TYPE_CHECKING:
    from bot.app import App

_LONGEST = 60  # characters of a name
_SHOWN = 5
_LONGEST_FILE = 10_000_000  # bytes
ChatName = Annotated[
    str, TextOption("--chat", help="Of one chat alone, such as telegram:-1001234.")
]
Url = Annotated[str, TextArgument(help="Address of the feed.")]
Page = Annotated[str, TextArgument(help="Address of the feed, or of a page that names it.")]
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
    state = "ok" if feed.is_primed else "new"
    if feed.gone or feed.failing_since is not None:
        state = "gone" if feed.gone else "failing"
    return {
        "id": feed.id,
        "url": url,
        "title": feed.title,
        "category": feed.category,
        "everybody": feed.configured,
        "chats": health.chats,
        "state": state,
        "last_success": feed.succeeded_at,
        "next_poll": None if feed.gone else feed.next_poll_at,
        "failures": feed.failures,
        "failing_since": feed.failing_since,
        "headlines_a_day": round(health.headlines_a_day, 2),
        "error": feed.error,
    }


def feed_cells(row: dict[str, object]) -> dict[str, object]:
    """Return a row formatted for people, with times in UTC."""
    name = str(row["title"] or row["url"])
    return {
        "feed": name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…",
        "category": row["category"],
        "for": "everybody" if row["everybody"] else f"{row['chats']} chats",
        "state": row["state"],
        "last success": _format_moment(row["last_success"]),
        "next poll": _format_moment(row["next_poll"]),
        "failures": row["failures"],
        "a day": str(row["headlines_a_day"]),
        "error": row["error"],
    }


def _format_moment(value: object) -> str:
    return f"{value:%Y-%m-%d %H:%M}Z" if isinstance(value, datetime) else "-"


@commands.callback()
def feeds_alone(context: typer.Context, json: Json = False, csv: Csv = False) -> None:
    """List the feeds when no command is named."""
    if context.invoked_subcommand is None:
        run_in_app(
            context, list_feeds, json=json, csv=csv, now=read_clock(), output=Output.of_process()
        )


@app_command(commands, "list")
async def list_feeds(
    app: "App",
    *,
    chat: ChatName = "",
    json: Json = False,
    csv: Csv = False,
    now: datetime,
    output: Output,
) -> None:
    """List all feeds, or those that one chat gets, with how they fare.

    Example: presagio feeds list --json
    """
    # Addresses of chats' own feeds may hold secrets.
    rows = [
        feed_row(
            health,
            health.feed.url if health.feed.configured or chat else public_address(health.feed.url),
        )
        for health in await FeedService(app).list_health(await _find_chat(app, chat), now=now)
    ]
    output.rows(
        rows,
        table=[feed_cells(row) for row in rows],
        json=json,
        csv=csv,
        none="There is no feed yet. Add one with: presagio feeds add URL",
    )


@app_command(commands, "add")
async def add_feed(
    app: "App",
    url: Page,
    *,
    category: Annotated[str, TextOption("--category", help="Any word, such as news or tech.")] = "",
    chat: ChatName = "",
    json: Json = False,
    now: datetime,
    output: Output,
) -> None:
    """Let everybody get a feed, or one chat. It is read once to see that it is one.

    Example: presagio feeds add https://example.org/rss --category news
    """
    feeds, whose = FeedService(app), await _find_chat(app, chat)
    offers = await feeds.look_up(url)
    if not isinstance(offers, ReadableFeed):
        _write_found(offers, json=json, output=output)
        raise PresagioError("The page names several feeds.", fix="Add one of them.")
    await feeds.add(whose, offers.named(category), now=now)
    title = offers.parsed.title
    output.tell(
        {"added": offers.url, "title": title, "category": category or None},
        f"Added {title or offers.url}. What it brings from now on is news.",
        json=json,
    )


@app_command(commands, "remove")
async def remove_feed(
    app: "App", url: Url, *, chat: ChatName = "", json: Json = False, now: datetime, output: Output
) -> None:
    """Take a feed away that was added here, or in one chat.

    Example: presagio feeds remove https://example.org/rss
    """
    if not await FeedService(app).remove(await _find_chat(app, chat), url, now=now):
        if url in (feed.url for feed in configured_feeds(app.settings)):
            raise InputError(f"{url} is in the settings.", fix="Take it out of [[feeds]] there.")
        named = f"Of {chat}" if chat else "Of everybody's feeds"
        raise InputError(f"{named}, none is at {url}.", fix="See: presagio feeds")
    output.tell({"removed": url}, f"Removed {url}.", json=json)


@app_command(commands, "test")
async def test_feed(app: "App", url: Page, *, json: Json = False, output: Output) -> None:
    """Fetch a feed, or find it on a page, and show what it holds. Nothing is stored.

    Example: presagio feeds test https://example.org
    """
    offers = await FeedService(app).look_up(url)
    if not isinstance(offers, ReadableFeed):
        _write_found(offers, json=json, output=output)
        return
    parsed = offers.parsed
    titles = [entry.title for entry in parsed.entries[:_SHOWN]]
    if json:
        row = {"url": offers.url, "title": parsed.title, "language": parsed.language}
        output.json(row | {"ttl": parsed.ttl, "entries": len(parsed.entries), "first": titles})
        return
    output.line(f"{parsed.title or offers.url}: {len(parsed.entries):,} entries")
    output.line(offers.url)
    for title in titles:
        output.line(f"- {title}")


@app_command(commands, "import")
async def import_feeds(
    app: "App",
    file: Annotated[str, typer.Argument(help="An OPML file; - is standard input.")],
    *,
    chat: ChatName = "",
    json: Json = False,
    now: datetime,
    output: Output,
) -> None:
    """Add the feeds of an OPML file, as feed readers export it. Folders are categories.

    Example: presagio feeds import feeds.opml
    """
    whose = await _find_chat(app, chat)
    body = await asyncio.to_thread(read_input, file, _LONGEST_FILE)
    listed = await read_list(app.isolation, body)
    result = await FeedService(app).import_feeds(whose, listed, now=now)
    output.tell(
        {"added": result.added, "there": result.present},
        f"Added {result.added:,} feeds; {result.present:,} were there.",
        json=json,
    )


@app_command(commands, "export")
async def export_feeds(app: "App", *, chat: ChatName = "", now: datetime, output: Output) -> None:
    """Print the feeds that everybody or one chat gets, as OPML.

    Example: presagio feeds export
    """
    whose = await _find_chat(app, chat)
    listed = await FeedService(app).export(whose, secrets=True, now=now)
    output.exact(write_opml(listed, title="Presagio").decode())


async def _find_chat(app: "App", name: str) -> Chat | None:
    return await chat_named(app, name) if name else None


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


def _write_found(feeds: Sequence[FoundFeed], *, json: bool, output: Output) -> None:
    for feed in feeds:
        text = f"{feed.url}  {feed.title or ''}".rstrip()
        output.tell({"url": feed.url, "title": feed.title}, text, json=json)

"""`presagio feeds`: lists, adds, removes, tests, imports and exports feeds."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.feed_rows import feed_cells, feed_row
from bot.console.output import Output
from bot.conversation.wiring import open_news_services
from bot.jobs.wiring import configured_feeds
from db.chat.chats import Chats
from db.posting.feeds import Feeds, SharedFeeds
from engine.chat import Chat
from engine.errors import InputError, PresagioError
from engine.feeds.lookup import FoundFeed, ReadableFeed, address_of, read_list
from engine.feeds.opml import OpmlFeed, write_opml
from engine.feeds.types import Feed, FeedHealth
from engine.fetch.client import Fetcher
from engine.text.address import public_address

if TYPE_CHECKING:
    from bot.app import App

_STDIN = "-"
_SHOWN = 5
_LONGEST_FILE = 10_000_000  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCommand:
    """Whose feeds, and how to write them. `chat` is "platform:id", or "" for everybody's feeds."""

    app: "App"
    output: Output
    json: bool
    now: datetime
    chat: str = ""


async def list_feeds(command: FeedCommand) -> None:
    """Write one row per feed."""
    rows = [feed_row(one, _shown_url(command, one.feed)) for one in await _healths(command)]
    if command.json:
        for row in rows:
            command.output.json(row)
    elif rows:
        command.output.table([feed_cells(row) for row in rows])
    else:
        command.output.line("There is no feed yet. Add one with: presagio feeds add URL")


async def add_feed(command: FeedCommand, address: str, *, category: str) -> None:
    """Look up an address and add its feed for everybody or the chat. Raises FetchError."""
    chat = await _chat(command)
    found = await _looked_up(command, address)
    if not isinstance(found, ReadableFeed):
        _write_found(command, found)
        raise PresagioError("The page names several feeds.", fix="Add one of them.")
    await _add(command, chat, found.url, category or None)
    title = found.parsed.title
    if command.json:
        command.output.json({"added": found.url, "title": title, "category": category or None})
    else:
        command.output.line(f"Added {title or found.url}. What it brings from now on is news.")


async def remove_feed(command: FeedCommand, url: str) -> None:
    """Remove a feed from everybody or from the chat. Raises InputError if it is not there."""
    chat = await _chat(command)
    if chat is not None:
        removed = await Feeds(command.app.database).remove(chat, url)
    else:
        removed = await SharedFeeds(command.app.database).remove(url)
        await _synchronised(command)
    if not removed:
        raise _not_there(command, url)
    if command.json:
        command.output.json({"removed": url})
    else:
        command.output.line(f"Removed {url}.")


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
    known = {feed.url for feed in await _listed(command)}
    new = [feed for feed in feeds if feed.url not in known]
    for feed in new:
        await _add(command, chat, feed.url, feed.category)
    if command.json:
        command.output.json({"added": len(new), "there": len(feeds) - len(new)})
    else:
        command.output.line(f"Added {len(new):,} feeds; {len(feeds) - len(new):,} were there.")


async def export_feeds(command: FeedCommand) -> None:
    """Write the feeds as OPML."""
    feeds = await _listed(command)
    listed = [OpmlFeed(url=one.url, title=one.title, category=one.category) for one in feeds]
    command.output.exact(write_opml(listed, title="Presagio").decode())


async def _healths(command: FeedCommand) -> list[FeedHealth]:
    """Return all feeds, or those that the chat gets, with their health."""
    await _synchronised(command)
    feeds, chat = Feeds(command.app.database), await _chat(command)
    found = await feeds.health(now=command.now)
    if chat is None:
        return found
    own = {feed.id for feed in await feeds.of_chat(chat)}
    return [one for one in found if one.feed.id in own]


async def _listed(command: FeedCommand) -> list[Feed]:
    """Return the feeds that everybody gets, or those of the chat.

    The former exclude chats' own feeds, which must not become everybody's when the list is
    imported elsewhere.
    """
    feeds = [one.feed for one in await _healths(command)]
    return feeds if command.chat else [feed for feed in feeds if feed.configured]


async def _synchronised(command: FeedCommand) -> None:
    await Feeds(command.app.database).configured(
        configured_feeds(command.app.settings), now=command.now
    )


async def _add(command: FeedCommand, chat: Chat | None, url: str, category: str | None) -> None:
    if chat is not None:
        await Feeds(command.app.database).add(chat, url, category=category, now=command.now)
        return
    await SharedFeeds(command.app.database).add(url, category=category, now=command.now)
    await _synchronised(command)


async def _chat(command: FeedCommand) -> Chat | None:
    return await chat_named(command.app, command.chat) if command.chat else None


async def chat_named(app: "App", name: str) -> Chat:
    """Return the chat "platform:id". Raises InputError if the bot does not know it."""
    platform, _, external_id = name.partition(":")
    chat = await Chats(app.database).known(platform, external_id)
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
        if command.json:
            command.output.json({"url": feed.url, "title": feed.title})
        else:
            command.output.line(f"{feed.url}  {feed.title or ''}".rstrip())


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

"""`presagio feeds`: the arguments of its commands."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Json, now, settings_of, text, with_app
from bot.console.output import Output

if TYPE_CHECKING:
    from bot.cli.feed_actions import FeedCommand

commands = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Show how the feeds fare, add and remove them.\n\n"
    "Without --chat this is about the feeds that everybody gets: those of [[feeds]] in the"
    " settings, which are changed there, and those added here, which the database keeps.\n\n"
    "Example: presagio feeds",
)

ChatName = Annotated[
    str,
    typer.Option("--chat", help="Of one chat alone, such as telegram:-1001234.", callback=text),
]
Url = Annotated[str, typer.Argument(help="Address of the feed.", callback=text)]
Page = Annotated[
    str, typer.Argument(help="Address of the feed, or of a page that names it.", callback=text)
]


@commands.callback()
def feeds_alone(context: typer.Context, json: Json = False) -> None:
    """List the feeds when no command is named."""
    if context.invoked_subcommand is None:
        feeds_list(context, json=json)


@commands.command("list")
def feeds_list(context: typer.Context, chat: ChatName = "", json: Json = False) -> None:
    """List all feeds, or those that one chat gets, with how they fare.

    Example: presagio feeds list --json
    """
    from bot.cli.feed_actions import list_feeds

    _run(context, list_feeds, chat=chat, json=json)


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
    from bot.cli.feed_actions import add_feed

    _run(context, lambda command: add_feed(command, url, category=category), chat=chat, json=json)


@commands.command("remove")
def feeds_remove(context: typer.Context, url: Url, chat: ChatName = "", json: Json = False) -> None:
    """Take a feed away that was added here, or in one chat.

    Example: presagio feeds remove https://example.org/rss
    """
    from bot.cli.feed_actions import remove_feed

    _run(context, lambda command: remove_feed(command, url), chat=chat, json=json)


@commands.command("test")
def feeds_test(context: typer.Context, url: Page, json: Json = False) -> None:
    """Fetch a feed, or find it on a page, and show what it holds. Nothing is stored.

    Example: presagio feeds test https://example.org
    """
    from bot.cli.feed_actions import test_feed

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
    from bot.cli.feed_actions import import_feeds

    _run(context, lambda command: import_feeds(command, file), chat=chat, json=json)


@commands.command("export")
def feeds_export(context: typer.Context, chat: ChatName = "") -> None:
    """Print the feeds that everybody or one chat gets, as OPML.

    Example: presagio feeds export
    """
    from bot.cli.feed_actions import export_feeds

    _run(context, export_feeds, chat=chat)


def _run(
    context: typer.Context,
    work: "Callable[[FeedCommand], Awaitable[None]]",
    *,
    chat: str = "",
    json: bool = False,
) -> None:
    from bot.cli.feed_actions import FeedCommand

    with_app(
        settings_of(context),
        lambda opened: work(
            FeedCommand(app=opened, output=Output.of_process(), json=json, now=now(), chat=chat)
        ),
    )

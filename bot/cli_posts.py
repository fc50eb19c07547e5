"""`presagio posts` and `presagio run-once`: their arguments."""

import re
from datetime import timedelta
from typing import Annotated

import typer

from bot.cli_feeds import ChatName
from bot.cli_shared import Json, now, settings_of, with_app
from bot.console.output import Output
from engine.errors import UsageError

_SPAN = re.compile(r"(\d{1,4})([mhd])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def posts(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Post nothing: show what would be posted.")
    ] = False,
    since: Annotated[
        str, typer.Option("--since", help="How far to look back, such as 90m, 24h or 2d.")
    ] = "24h",
    chat: ChatName = "",
    json: Json = False,
) -> None:
    """Show what would be posted in each chat, and why not the rest.

    Example: presagio posts --dry-run --since 24h
    """
    from bot.console.posts import PostOptions
    from bot.console.posts import dry_run as preview

    if not dry_run:
        raise UsageError(
            "Nothing was posted: presagio serve and presagio run-once do that.",
            fix="Pass --dry-run to see what they would post.",
        )
    chosen = PostOptions(since=read_span(since), chat=chat, json=json)
    with_app(
        settings_of(context),
        lambda opened: preview(opened, chosen, now=now(), output=Output.of_process()),
    )


def run_once(context: typer.Context, json: Json = False) -> None:
    """Read the feeds, search and judge what is new, post what is due, and end: for cron.

    It may run beside presagio serve: nothing is posted twice.

    Example: presagio run-once
    """
    from bot.console.run_once import run_once as cycle

    with_app(
        settings_of(context),
        lambda opened: cycle(opened, now=now, json=json, output=Output.of_process()),
    )


def read_span(text: str) -> timedelta:
    """Return the time that "90m", "24h" or "2d" names. Raises UsageError."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"{text!r} is no span of time.", fix="Write it as 90m, 24h or 2d.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})

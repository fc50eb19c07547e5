"""`presagio log`: its arguments."""

from typing import Annotated

import typer

from bot.cli_shared import Json, now, settings_of, with_app
from bot.console.output import Output


def log(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Searches.")] = 20,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only those that found nothing or broke off.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the last searches, newest first; with --json one object a line.

    Example: presagio log --failed --limit 50
    """
    from bot.console.log import show_log

    with_app(
        settings_of(context),
        lambda opened: show_log(
            opened, limit=limit, failed=failed, json=json, now=now(), output=Output.of_process()
        ),
    )

"""`presagio serve`: its arguments."""

from typing import Annotated

import typer

from bot.cli.shared import now, settings_of, with_app
from bot.console.output import Output


def command(
    context: typer.Context,
    web: Annotated[
        bool, typer.Option("--web", help="Open the page and the API of [web] as well.")
    ] = False,
) -> None:
    """Answer in every chat that is set up, and on the web page, until told to end.

    Set TELEGRAM_BOT_TOKEN, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN, before; --web needs neither.

    Example: presagio serve --web
    """
    from bot.serve import serve as listen

    with_app(
        settings_of(context),
        lambda opened: listen(opened, now=now, said=Output.of_process().remark, web=web),
    )

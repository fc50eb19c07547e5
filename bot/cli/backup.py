"""`presagio backup`, `presagio restore` and `presagio database`: their arguments."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.shared import Json, settings_of
from bot.console.output import Output
from bot.signals import run_until_signal


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="File to write; an older one is replaced.")],
    json: Json = False,
) -> None:
    """Write the whole database to a file, while others work in it.

    Example: presagio backup presagio.dump
    """
    from bot.cli.database_actions import back_up

    run_until_signal(back_up(settings_of(context), file, json=json, output=Output.of_process()))

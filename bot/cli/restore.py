"""`presagio backup`, `presagio restore` and `presagio database`: their arguments."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.shared import Json, settings_of
from bot.console.output import Output
from bot.signals import run_until_signal


def restore_backup(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="File that presagio backup has written.",
            exists=True,
            dir_okay=False,
            readable=True,
        ),
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Give up the corpora and chats that are there.")
    ] = False,
    json: Json = False,
) -> None:
    """Load a backup: into an empty database, or with --replace in place of what is there.

    All of it goes in, or nothing is changed. Nobody else may work in the database meanwhile.

    Example: presagio restore presagio.dump
    """
    from bot.cli.database_actions import bring_back

    settings, output = settings_of(context), Output.of_process()
    run_until_signal(bring_back(settings, file, replace=replace, json=json, output=output))

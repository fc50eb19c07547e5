"""`presagio backup`, `presagio restore` and `presagio database`: their arguments."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli_shared import Json, settings_of
from bot.console.output import Output
from bot.stopping import run
from engine.errors import UsageError

database = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Work in the database with PostgreSQL's programs.\n\nExample: presagio database run psql",
)

# What follows the program's name is the program's.
_PROGRAM = {"allow_interspersed_args": False}


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="File to write; an older one is replaced.")],
    json: Json = False,
) -> None:
    """Write the whole database to a file, while others work in it.

    Example: presagio backup presagio.dump
    """
    from bot.console.database import back_up

    run(back_up(settings_of(context), file, json=json, output=Output.of_process()))


def restore(
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
    from bot.console.database import bring_back

    settings, output = settings_of(context), Output.of_process()
    run(bring_back(settings, file, replace=replace, json=json, output=output))


@database.command("run", context_settings=_PROGRAM)
def database_run(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="The program and its arguments.", show_default=False)
    ] = None,
) -> None:
    """Run a program beside the database, and exit as it does.

    It finds the database in DATABASE_URL, and psql, pg_dump and pg_restore find it by themselves.

    Example: presagio database run psql -c "SELECT name FROM corpus"
    """
    from bot.console.database import run_program

    if not command:
        raise UsageError("There is no program to run.", fix="Try: presagio database run psql")
    sys.exit(run_program(settings_of(context), command, output=Output.of_process()))

"""`presagio backup`, `presagio restore` and `presagio database`: their arguments."""

import sys
from typing import Annotated

import typer

from bot.cli.shared import settings_of
from bot.console.output import Output
from engine.errors import UsageError

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Work in the database with PostgreSQL's programs.\n\nExample: presagio database run psql",
)

# What follows the program's name is the program's.
_PROGRAM = {"allow_interspersed_args": False}


@commands.command("run", context_settings=_PROGRAM)
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
    from bot.cli.database_actions import run_program

    if not command:
        raise UsageError("There is no program to run.", fix="Try: presagio database run psql")
    sys.exit(run_program(settings_of(context), command, output=Output.of_process()))

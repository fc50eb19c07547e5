"""The `presagio` command: dispatches to a command and maps errors to exit codes.

Commands are imported when they are called, so `--help` and completion import none of them.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.commands import CONTEXT, Commands, Verbose
from engine.errors import PresagioError, UsageError

FAILED, WRONG_USAGE = 1, 2

app = typer.Typer(
    name="presagio",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=CONTEXT,
)


def main() -> None:
    """Run a command.

    Exit codes: 0 success, 1 failure with one line, 2 wrong usage, 128 + N ended by signal N.
    """
    open_missing_streams()
    try:
        app(prog_name="presagio")
    except PresagioError as error:
        _remark(" ".join(f"presagio: {error}".splitlines()))
        sys.exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    except OSError as error:  # from writing output; others were mapped where they occurred
        discard_results()
        where = error.filename or "The output"
        _remark(f"presagio: {where} cannot be written: {error.strerror}.")
        sys.exit(FAILED)


def open_missing_streams() -> None:
    """Replace closed standard streams, before a socket or a file takes their descriptors."""
    nothing = Path(os.devnull)
    sys.stdin = sys.stdin or nothing.open()
    sys.stdout = sys.stdout or nothing.open("w")
    sys.stderr = sys.stderr or nothing.open("w")


def discard_results() -> None:
    """Redirect stdout to devnull, so that flushing it at exit cannot fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _remark(text: str) -> None:
    from bot.console.output import Output

    Output.of_process().remark(text)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        from bot.console.output import Output

        Output.of_process().line(f"presagio {version('presagio')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", help="Configuration file, in place of config.toml.")
    ] = None,
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
    __: Verbose = 0,
) -> None:
    """There is always a tweet: old posts that foresaw today's headlines.

    Example: presagio demo
    """
    context.obj = config

"""The `presagio` command: dispatches to a command and maps errors to exit codes.

Commands are imported when they are called, so `--help` and completion import none of them.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.command_table import CONTEXT, Commands, Verbose
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
    from bot.console.screen import Output

    Output.of_process().remark(text)


def describe_install() -> str:
    """Return the version, what it was built from, the Python, and how and where it is installed."""
    import json
    import platform
    from importlib.metadata import distribution

    installed = distribution("presagio")
    root = Path(__file__).resolve().parents[2]
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        source, how = _checked_out(root), "editable"
    else:
        source, how = _built_from(root), (installed.read_text("INSTALLER") or "unpacked").strip()
    python = f"Python {platform.python_version()}"
    return f"presagio {installed.version} ({source}, {python}, {how} in {root})"


def _checked_out(root: Path) -> str:
    import subprocess

    command = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    try:
        done = subprocess.run(  # noqa: S603 - no part of it is given
            command, cwd=root, capture_output=True, text=True, check=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown commit"
    return f"commit {done.stdout.strip()}"


def _built_from(root: Path) -> str:
    """Return the commit and the date that hatch_build.py noted when the wheel was built."""
    import json

    note = root / "bot" / "build.json"
    if not note.exists():
        return "unknown build"
    build = json.loads(note.read_text(encoding="utf-8"))
    commit = f"commit {build['commit']}, " if build["commit"] else ""
    return f"{commit}built {build['date']}"


def _version(asked: bool) -> None:
    if asked:
        from bot.console.screen import Output

        Output.of_process().line(describe_install())
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", help="Configuration file, in place of config.toml.")
    ] = None,
    _: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and the build.", callback=_version, is_eager=True
        ),
    ] = False,
    __: Verbose = 0,
) -> None:
    """There is always a tweet: old posts that foresaw today's headlines.

    Example: presagio demo
    """
    context.obj = config

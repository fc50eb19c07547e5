"""The `presagio` command: dispatches to a command and maps errors to exit codes.

Commands are imported when they are called, so `--help` and completion import none of them.
"""

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from engine.errors import PresagioError, UsageError

FAILED, WRONG_USAGE = 1, 2

# Help is plain text; -h is short for --help unless a command overrides it.
CONTEXT = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a command lives, and the first line of its help.

    Its module defines a group `commands`, the function named here, or a function `command`. The
    module's CONTEXT_SETTINGS, if defined, apply to the arguments.
    """

    name: str
    module: str
    summary: str
    function: str = ""


class LazyCommand(TyperCommand):
    """A placeholder for a command in lists, which loads the command when it is called."""

    def __init__(self, entry: CommandEntry) -> None:
        super().__init__(entry.name, help=entry.summary, rich_markup_mode=None)
        self.entry = entry

    def make_context(self, *args: Any, **keywords: Any) -> Any:
        """Import the command and let it parse its arguments."""
        return load(self.entry).make_context(*args, **keywords)


def load(entry: CommandEntry) -> Any:
    """Import a command and return it as a click command."""
    module = import_module(entry.module)
    if hasattr(module, "commands") and not entry.function:
        return typer.main.get_group(module.commands)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    context = getattr(module, "CONTEXT_SETTINGS", CONTEXT)
    alone.command(entry.name, context_settings=context)(
        getattr(module, entry.function or "command")
    )
    return typer.main.get_command(alone)


# A test compares each summary with the command's own help.
COMMANDS = (
    CommandEntry(
        "setup",
        "bot.cli.setup",
        "Ask for what is missing, check it, and write config.toml and presagio.env.",
    ),
    CommandEntry("demo", "bot.cli.demo", "Answer four headlines from a bundled corpus."),
    CommandEntry("chat", "bot.cli.chat", "Read headlines from the terminal until input ends."),
    CommandEntry(
        "serve",
        "bot.cli.serve",
        "Answer in every chat that is set up, and on the web page, until told to end.",
        function="serve_command",
    ),
    CommandEntry("mcp", "bot.cli.mcp", "Serve the searches as tools to agents, by stdio or HTTP."),
    CommandEntry(
        "init",
        "bot.cli.init",
        "Create or update the tables. May be run again at any time.",
    ),
    CommandEntry(
        "ingest",
        "bot.cli.ingest",
        "Store an archive: posts, chats or articles. A second run stores only what changed.",
    ),
    CommandEntry("search", "bot.cli.search", "Find the old texts that foretold a headline."),
    CommandEntry(
        "find",
        "bot.cli.find",
        "Find exactly the texts that meet a query, best first; without a word, newest first.",
    ),
    CommandEntry(
        "ask",
        "bot.cli.ask",
        "Answer a question from the texts of one corpus or several, with sources.",
    ),
    CommandEntry(
        "compose",
        "bot.cli.compose",
        "Write tweets from the texts of corpora and the web, each claim with its source.",
    ),
    CommandEntry(
        "corpora", "bot.cli.corpora", "List, show, read, change, reindex and drop corpora."
    ),
    CommandEntry(
        "glossary",
        "bot.cli.glossary",
        "Words that mean the same, so that a search for one finds the other.",
    ),
    CommandEntry(
        "embed",
        "bot.cli.embed",
        "Make the vectors that searches by meaning compare: those missing or of changed texts.",
    ),
    CommandEntry("feeds", "bot.cli.feeds", "Show how the feeds fare, add and remove them."),
    CommandEntry(
        "posts",
        "bot.cli.posts",
        "Show what would be posted in each chat, and why not the rest.",
    ),
    CommandEntry(
        "webhooks",
        "bot.cli.webhooks",
        "Show how webhooks fare, test them, and turn them on again.",
    ),
    CommandEntry(
        "run-once",
        "bot.cli.serve",
        "Read the feeds, search and judge what is new, post what is due, and end: for cron.",
        function="run_once",
    ),
    CommandEntry(
        "log",
        "bot.cli.log",
        "Show the last searches, newest first; with --json one object a line.",
    ),
    CommandEntry("eval", "bot.cli.evaluate", "Measure answers against judged headlines."),
    CommandEntry(
        "backup",
        "bot.cli.database",
        "Write the whole database to a file, while others work in it.",
        function="backup",
    ),
    CommandEntry(
        "restore",
        "bot.cli.database",
        "Load a backup: into an empty database, or with --replace in place of what is there.",
        function="restore_backup",
    ),
    CommandEntry(
        "database",
        "bot.cli.database",
        "Work in the database with PostgreSQL's programs.",
    ),
    CommandEntry("slack", "bot.cli.slack", "Set up Slack."),
    CommandEntry(
        "doctor",
        "bot.cli.doctor",
        "Check settings, database, model endpoint, chat platforms, feeds, jobs and what is owed.",
    ),
)


class _Commands(TyperGroup):
    """All commands, none of them imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in COMMANDS:
            self.add_command(LazyCommand(entry))


app = typer.Typer(
    name="presagio",
    cls=_Commands,
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
) -> None:
    """There is always a tweet: old posts that foresaw today's headlines.

    Example: presagio demo
    """
    context.obj = config

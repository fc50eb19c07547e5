"""The list of commands, in groups. A command is imported when it is called."""

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

# Help is plain text; -h is short for --help.
CONTEXT = {"help_option_names": ["-h", "--help"]}
VERBOSE = "presagio.verbose"  # in a context's meta: how often -v was given


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a command lives, its group, and the first line of its help.

    Its module defines a group `commands`, the function named here, or a function `command`. The
    module's CONTEXT_SETTINGS, if defined, apply to the arguments.
    """

    name: str
    group: str
    summary: str
    module: str  # in bot.cli
    function: str = ""


class LazyCommand(TyperCommand):
    """A placeholder for a command in lists, which loads the command when it is called."""

    def __init__(self, entry: CommandEntry) -> None:
        super().__init__(entry.name, help=entry.summary, rich_markup_mode=None)
        self.entry = entry

    def make_context(self, *args: Any, **keywords: Any) -> Any:
        """Import the command and let it parse its arguments."""
        return load(self.entry).make_context(*args, **keywords)


class QueryCommand(TyperCommand):
    """A command whose argument may begin with a minus.

    "-c" is an option and "-clinton" an argument, where other commands read "-c linton".
    """

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that knows options as whole words only."""
        parser = super().make_parser(ctx)
        parser._long_opt.update(parser._short_opt)
        parser._short_opt.clear()
        return parser


def load(entry: CommandEntry) -> Any:
    """Import a command and return it as a click command."""
    module = import_module(f"bot.cli.{entry.module}")
    if hasattr(module, "commands") and not entry.function:
        return _with_verbose(typer.main.get_group(module.commands))
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    context = CONTEXT | getattr(module, "CONTEXT_SETTINGS", {})
    takes_minus = context.get("ignore_unknown_options", False)
    alone.command(
        entry.name, cls=QueryCommand if takes_minus else TyperCommand, context_settings=context
    )(getattr(module, entry.function or "command"))
    return _with_verbose(typer.main.get_command(alone))


def _with_verbose(command: Any) -> Any:
    """Add -v to a command, or to all commands of a group."""
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            _with_verbose(below)
    else:
        command.params.append(_verbose_option())
    return command


def _count_verbose(context: typer.Context, times: int) -> int:
    context.meta[VERBOSE] = context.meta.get(VERBOSE, 0) + times
    return times


Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        expose_value=False,
        show_default=False,
        callback=_count_verbose,
        help="Log what happens; -vv logs details too.",
    ),
]


@cache
def _verbose_option() -> Any:
    """Return -v as a click parameter, which may be given before and after a command."""
    alone = typer.Typer(add_completion=False)

    @alone.command()
    def _command(verbose: Verbose = 0) -> None:
        """Carry the option."""

    return typer.main.get_command(alone).params[0]


# One line each, as a test checks: the first of the command's own help.
_GROUPS = {
    "Start": {
        "setup": "Ask for what is missing, check it, and write the configuration.",
        "demo": "Answer five headlines from a bundled corpus.",
        "ingest": "Store an archive: posts, chats or articles.",
    },
    "Ask": {
        "search": "Find the old texts that foretold a headline.",
        "find": "Find exactly the texts that meet a query, best first.",
        "ask": "Answer a question from the texts of corpora, with sources.",
        "compose": "Write tweets from corpora and the web, each claim with a source.",
        "chat": "Read headlines from the terminal until input ends.",
    },
    "Texts": {
        "corpora": "List, show, read, change, reindex and drop corpora.",
        "glossary": "Words that mean the same, so a search for one finds the others.",
        "embed": "Make the vectors that searches by meaning compare.",
    },
    "Serve": {
        "serve": "Answer in the chats that are set up, and on the web page.",
        "mcp": "Serve the searches as tools to agents, by stdio or HTTP.",
        "feeds": "Show how the feeds fare, add and remove them.",
        "posts": "Show what would be posted in each chat, and why not the rest.",
        "wall": "Decide which prophecies that visitors voted for the page shows.",
        "webhooks": "Show how webhooks fare, test them, and turn them on again.",
        "run-once": "Read feeds, search, judge and post what is due, and end: for cron.",
        "slack": "Set up Slack.",
    },
    "Operate": {
        "config": "Show where settings come from, or write a first config.toml.",
        "doctor": "Check what works, and say how to fix what does not.",
        "log": "Show the last searches, newest first.",
        "forget": "Delete what is stored about a person or a chat.",
        "eval": "Measure answers against judged headlines.",
        "init": "Create or update the tables.",
        "backup": "Write the whole database to a file, while others work in it.",
        "restore": "Load a backup into an empty database.",
        "database": "Work in the database with PostgreSQL's programs.",
        "man": "Print the manual page of all commands.",
    },
}
# Module and function of those that are not named alike.
_ELSEWHERE = {
    "serve": ("serve", "serve_command"),
    "run-once": ("serve", "run_once"),
    "eval": ("evaluate", ""),
    "backup": ("database", "backup"),
    "restore": ("database", "restore_backup"),
}
COMMANDS = tuple(
    CommandEntry(name, group, summary, *_ELSEWHERE.get(name, (name, "")))
    for group, summaries in _GROUPS.items()
    for name, summary in summaries.items()
)


# The types of arguments are checked by pydantic, in its words.
_PLAIN = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^Input should be a valid integer.*"), "it must be a whole number."),
    (re.compile(r"^Input should be a valid number.*"), "it must be a number."),
    (re.compile(r"^Input should be greater than or equal to (\S+)$"), r"it must be \1 or more."),
    (re.compile(r"^Input should be less than or equal to (\S+)$"), r"it must be \1 or less."),
)


_OF_ONE_TEXT = ("search", "find", "ask", "compose")  # commands whose argument is a sentence


def _plain(message: str) -> str:
    for pattern, words in _PLAIN:
        message = pattern.sub(words, message)
    return message


def _mention_quotes(error: Any) -> None:
    """Add what is missing where a shell took several words of one text for several arguments."""
    said = getattr(error, "message", "")
    if said.startswith("Got unexpected extra argument") and error.ctx.command.name in _OF_ONE_TEXT:
        error.message = f"{said}. Put the text in quotes."


class Commands(TyperGroup):
    """All commands, none of them imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in COMMANDS:
            self.add_command(LazyCommand(entry))

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Errors in its arguments are worded like those in the settings."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _plain(error.message)
            raise
        except TyperException as error:
            _mention_quotes(error)
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as in the base
        """Write one line for each command, below the name of its group."""
        for group, entries in groupby(COMMANDS, key=lambda entry: entry.group):
            with formatter.section(group):
                formatter.write_dl([(entry.name, entry.summary) for entry in entries])

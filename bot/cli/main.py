"""The `presagio` command: dispatches to a command and maps errors to exit codes.

Commands are imported when they are called, so `--help` and completion import none of them.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from engine.errors import PresagioError, UsageError

# Help is plain text; -h is short for --help.
CONTEXT = {"help_option_names": ["-h", "--help"]}
VERBOSE = "presagio.verbose"  # in a context's meta: how often -v was given
# The types of arguments are checked by pydantic, in its words.
_PLAIN = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^Input should be a valid integer.*"), "it must be a whole number."),
    (re.compile(r"^Input should be a valid number.*"), "it must be a number."),
    (re.compile(r"^Input should be greater than or equal to (\S+)$"), r"it must be \1 or more."),
    (re.compile(r"^Input should be less than or equal to (\S+)$"), r"it must be \1 or less."),
)
_OF_ONE_TEXT = ("search", "find", "ask", "compose")  # commands whose argument is a sentence
FAILED, WRONG_USAGE = 1, 2
# Module and function of those that are not named alike.
_ELSEWHERE = {
    "serve": ("serve", "serve_command"),
    "run-once": ("serve", "run_once"),
    "mcp": ("serve", "mcp_command"),
    "slack": ("config", "slack_commands"),
    "forget": ("log", "forget_command"),
    "backup": ("database", "backup"),
    "restore": ("database", "restore_backup"),
    "init": ("database", "init"),
}


_REPLAY = "In a checkout, python -m bench.replay takes the same options and files."
_NO_MEDIA = "Pictures and videos of texts are not stored: the page of a text links to its original."
# Of older versions, by the words on the command line, and what to do instead.
RETIRED_COMMANDS: Mapping[str, str] = {
    "eval": "In a checkout, python -m bench.evaluate takes the same options and files.",
    "man": "presagio --help lists the commands, and presagio COMMAND --help tells about one.",
    "site": "presagio serve --web shows the pages, and presagio corpora export writes the texts.",
    "wall": "The page has no votes: it shows what was posted from feeds.",
    "webhooks": (
        "Programs read what was posted in /feed.json or /feed.xml of the page, and ask the API or"
        " MCP."
    ),
    "corpora media": _NO_MEDIA,
    "backup --media": _NO_MEDIA,
    "restore --known-only": "A restore brings back all that the file holds.",
    "restore --media": _NO_MEDIA,
    "restore --replace": "Name an empty database in PRESAGIO_DATA_DIR or DATABASE_URL.",
    "compose --record": _REPLAY,
    "compose --replay": _REPLAY,
}


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a command lives, its group, and the first line of its help.

    Its module defines the function or group named here, else a group `commands`, or a function
    `command`. The module's CONTEXT_SETTINGS, if defined, apply to the arguments.
    """

    name: str
    group: str
    summary: str
    module: str  # in bot.cli
    function: str = ""


def explain_retired_command(name: str) -> str | None:
    """Return what became of a command, or None if there never was such a command."""
    return (
        f"presagio {name} is gone. {RETIRED_COMMANDS[name]}" if name in RETIRED_COMMANDS else None
    )


def _refuse_retired_words(command: str, arguments: Sequence[str]) -> None:
    """Raise UsageError if a subcommand or an option is gone."""
    options = (word.partition("=")[0] for word in arguments if word.startswith("--"))
    for word in (*arguments[:1], *options):
        if explanation := explain_retired_command(f"{command} {word}"):
            raise UsageError(explanation)


class LazyCommand(TyperCommand):
    """A placeholder for a command in lists, which loads the command when it is called."""

    def __init__(self, entry: CommandEntry) -> None:
        super().__init__(entry.name, help=entry.summary, rich_markup_mode=None)
        self.entry = entry

    def make_context(self, *args: Any, **keywords: Any) -> Any:
        """Import the command and let it parse its arguments. Raises UsageError for what is gone."""
        _refuse_retired_words(self.entry.name, args[1])
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
    command = getattr(module, entry.function or "commands", None) or module.command
    if isinstance(command, typer.Typer):
        return _with_verbose(typer.main.get_group(command))
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    context = CONTEXT | getattr(module, "CONTEXT_SETTINGS", {})
    takes_minus = context.get("ignore_unknown_options", False)
    alone.command(
        entry.name, cls=QueryCommand if takes_minus else TyperCommand, context_settings=context
    )(command)
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
        "corpora": "List, show, read, export, change, reindex, place and drop corpora.",
        "glossary": "Words that mean the same, so a search for one finds the others.",
        "embed": "Make the vectors that searches by meaning compare.",
    },
    "Serve": {
        "serve": "Answer in the chats that are set up, and on the web page.",
        "mcp": "Serve the searches as tools to agents, by stdio or HTTP.",
        "feeds": "Show how the feeds fare, add and remove them.",
        "posts": "Show what would be posted in each chat, and why not the rest.",
        "run-once": "Read feeds, search, judge and post what is due, and end: for cron.",
        "slack": "Set up Slack.",
    },
    "Operate": {
        "config": "Show where settings come from, or write a first config.toml.",
        "doctor": "Check what works, and say how to fix what does not.",
        "log": "Show the last searches, newest first.",
        "forget": "Delete what is stored about a person or a chat.",
        "init": "Create or update the tables.",
        "backup": "Write the whole database to a file, while others work in it.",
        "restore": "Load a backup into an empty database.",
        "database": "Work in the database with PostgreSQL's programs.",
    },
}
COMMANDS = tuple(
    CommandEntry(name, group, summary, *_ELSEWHERE.get(name, (name, "")))
    for group, summaries in _GROUPS.items()
    for name, summary in summaries.items()
)


class Commands(TyperGroup):
    """All commands, none of them imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in COMMANDS:
            self.add_command(LazyCommand(entry))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name. Raises UsageError for one that is gone."""
        if explanation := explain_retired_command(cmd_name):
            raise UsageError(explanation)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Errors in its arguments are worded like those in the settings."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            for pattern, words in _PLAIN:
                error.message = pattern.sub(words, error.message)
            raise
        except TyperException as error:
            # A shell took several words of one text for several arguments.
            is_text = ctx.invoked_subcommand in _OF_ONE_TEXT
            if is_text and error.message.startswith("Got unexpected extra argument"):
                error.message = f"{error.message}. Put the text in quotes."
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as in the base
        """Write one line for each command, below the name of its group."""
        for group, entries in groupby(COMMANDS, key=lambda entry: entry.group):
            with formatter.section(group):
                formatter.write_dl([(entry.name, entry.summary) for entry in entries])


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
        _print_remark(" ".join(f"presagio: {error}".splitlines()))
        sys.exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    except OSError as error:  # from writing output; others were mapped where they occurred
        discard_results()
        where = error.filename or "The output"
        _print_remark(f"presagio: {where} cannot be written: {error.strerror}.")
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


def _print_remark(text: str) -> None:
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


def _print_version(value: bool) -> None:
    if value:
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
            "--version",
            help="Print the version and the build.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
    __: Verbose = 0,
) -> None:
    """There is always a tweet: old posts that foresaw today's headlines.

    Example: presagio demo
    """
    context.obj = config

"""Commands that are imported when they are called: `--help` and completion import none of them."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

# Help is plain text; -h is short for --help except where a command says otherwise.
CONTEXT = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Where a command lives, and the first line of its help.

    In its module it is the function `command` or the one that is named here, or a group of
    several, `commands`. Where the module sets CONTEXT_SETTINGS, arguments are read by them.
    """

    name: str
    module: str
    summary: str
    function: str = ""


class LazyCommand(TyperCommand):
    """Stands for a command in lists, and becomes it when it is called."""

    def __init__(self, entry: CommandEntry) -> None:
        super().__init__(entry.name, help=entry.summary, rich_markup_mode=None)
        self.entry = entry

    def make_context(self, *args: Any, **keywords: Any) -> Any:
        """Import the command and let it read its arguments."""
        return load(self.entry).make_context(*args, **keywords)


def load(entry: CommandEntry) -> Any:
    """Import a command and return it as typer runs it."""
    module = import_module(entry.module)
    if hasattr(module, "commands") and not entry.function:
        return typer.main.get_group(module.commands)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    context = getattr(module, "CONTEXT_SETTINGS", CONTEXT)
    alone.command(entry.name, context_settings=context)(
        getattr(module, entry.function or "command")
    )
    return typer.main.get_command(alone)

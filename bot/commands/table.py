"""The commands as a table in Markdown, for the README."""

from collections.abc import Sequence

from bot.commands.registry import Command


def command_table(commands: Sequence[Command]) -> str:
    """Return a row for each command: how it is called, other names, what it does."""
    rows = [
        f"| `{command.usage}`{_aliases(command)} | {_summary(command)} |" for command in commands
    ]
    return "\n".join(["| command | does |", "| --- | --- |", *rows])


def _aliases(command: Command) -> str:
    return "".join(f", `/{alias}`" for alias in command.aliases)


def _summary(command: Command) -> str:
    return f"{command.summary} (in groups: admins)" if command.admin else command.summary

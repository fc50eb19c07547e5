"""The commands as a table in Markdown, for the README and the guides."""

from collections.abc import Sequence

from bot.commands.registry import Command


def command_table(commands: Sequence[Command], platform: str = "") -> str:
    """Return a row for each command: how it is called, other names, what it does.

    A platform is named where its own names are wanted.
    """
    rows = [
        f"| `{command.written_for(platform, command.usage)}`{_aliases(command, platform)}"
        f" | {_summary(command)} |"
        for command in commands
    ]
    return "\n".join(["| command | does |", "| --- | --- |", *rows])


def _aliases(command: Command, platform: str) -> str:
    return "".join(f", `/{alias}`" for alias in command.names_on(platform)[1:])


def _summary(command: Command) -> str:
    return f"{command.summary} (in groups: admins)" if command.admin else command.summary

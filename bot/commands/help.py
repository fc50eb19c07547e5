"""/help: what can be asked."""

from collections.abc import Sequence

from bot.commands.registry import Command, Request, Services
from bot.reply import Reply

_GREETING = "There is always a tweet. Send me a headline; I look for old tweets that foretold it."


def help_command(others: Sequence[Command]) -> Command:
    """Return the command that describes `others` and itself."""

    async def answer(request: Request, _services: Services) -> Reply:
        asked = request.text.lstrip("/").lower()
        for listed in (*others, command):
            if asked in listed.names:
                return Reply(text=_one(listed), ephemeral=True)
        return Reply(text=_all((*others, command)), ephemeral=True)

    command = Command(
        name="help",
        aliases=("start",),
        summary="this list, or one command with an example",
        usage="/help [COMMAND]",
        example="/help why",
        handler=answer,
    )
    return command


def _all(commands: Sequence[Command]) -> str:
    lines = [f"{command.usage}: {command.summary}" for command in commands]
    return "\n".join([_GREETING, "", *lines])


def _one(command: Command) -> str:
    lines = [f"{command.usage}: {command.summary}"]
    if command.aliases:
        lines.append(f"Also: {', '.join(f'/{alias}' for alias in command.aliases)}")
    return "\n".join([*lines, f"Example: {command.example}"])

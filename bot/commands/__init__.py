"""The conversation, the same on every platform: Request -> Reply."""

from bot.commands.help import help_command
from bot.commands.memory import LocalMemory
from bot.commands.prophecy import MORE, PROPHECY
from bot.commands.registry import Command, Registry, Request, Services
from bot.commands.why import WHY

__all__ = [
    "Command",
    "LocalMemory",
    "Registry",
    "Request",
    "Services",
    "standard_commands",
]


def standard_commands() -> Registry:
    """Return the commands that every face offers."""
    commands = (PROPHECY, MORE, WHY)
    return Registry((*commands, help_command(commands)))

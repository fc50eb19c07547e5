"""The chat commands, the same on every platform."""

from importlib import import_module
from pkgutil import iter_modules

from bot.commands.archives import ask_which
from bot.commands.help import help_command
from bot.commands.prophecy import answer_plain_message
from bot.commands.registry import Command, Registry

__all__ = ["Command", "Registry", "standard_commands"]

_ORDER = (
    *("prophecy", "more", "find", "ask", "compose", "why", "top", "picture"),
    *("subscribe", "unsubscribe", "today", "preview", "history", "feeds"),
    *("settings", "corpus", "glossary", "start", "forget", "access", "usage"),
)


def standard_commands() -> Registry:
    """Return the commands that every adapter offers, with what answers all else.

    A command is found because it is defined in a module here; a new one is listed among the last.
    """
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    values = [value for module in modules for value in vars(module).values()]
    found = {id(value): value for value in values if isinstance(value, Command)}
    ranks = {name: rank for rank, name in enumerate(_ORDER)}
    commands = sorted(found.values(), key=lambda command: ranks.get(command.name, len(ranks)))
    everything = (*commands, help_command(commands))
    return Registry(everything, plain=answer_plain_message, several=ask_which)

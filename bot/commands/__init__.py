"""The chat commands, the same on every platform."""

from bot.commands.archives import CORPUS, ask_which
from bot.commands.compose import COMPOSE
from bot.commands.feeds import FEEDS
from bot.commands.help import help_command
from bot.commands.owner import ACCESS, GLOSSARY, USAGE
from bot.commands.prophecy import MORE, PROPHECY, answer_plain_message
from bot.commands.queries import ASK, FIND
from bot.commands.registry import Command, Registry
from bot.commands.settings import FORGET, SETTINGS
from bot.commands.start import START
from bot.commands.subscribe import SUBSCRIBE, UNSUBSCRIBE
from bot.commands.upcoming import HISTORY, PREVIEW, TODAY
from bot.commands.votes import TOP
from bot.commands.why import PICTURE, WHY

__all__ = ["Command", "Registry", "standard_commands"]


def standard_commands() -> Registry:
    """Return the commands that every adapter offers."""
    commands = (
        *(PROPHECY, MORE, FIND, ASK, COMPOSE, WHY, TOP, PICTURE),
        *(SUBSCRIBE, UNSUBSCRIBE, TODAY, PREVIEW, HISTORY, FEEDS),
        *(SETTINGS, CORPUS, GLOSSARY, START, FORGET, ACCESS, USAGE),
    )
    everything = (*commands, help_command(commands))
    return Registry(everything, plain=answer_plain_message, several=ask_which)

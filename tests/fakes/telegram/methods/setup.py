"""Who the bot is, and its command menus."""

import re

from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.methods.handler import Handler, Parameters
from tests.fakes.telegram.world import World

_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_LANGUAGE = re.compile(r"(?:[a-z]{2})?")
MAX_COMMANDS = 100


def get_me(world: World, _: Parameters) -> object:
    return world.bot.payload() | {
        "can_join_groups": "can_join_groups" not in world.withheld,
        "can_read_all_group_messages": not world.privacy_mode,
        "supports_inline_queries": "supports_inline_queries" not in world.withheld,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def set_my_commands(world: World, p: Parameters) -> object:
    commands = p["commands"]
    if len(commands) > MAX_COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not _COMMAND.fullmatch(command["command"]):
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= len(command["description"]) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    world.menus.set(p.get("scope"), _language(p), commands)
    return True


def _language(p: Parameters) -> str:
    code: str = p.get("language_code", "")
    if not _LANGUAGE.fullmatch(code):
        raise bad_request("BOT_COMMAND_LANGUAGE_CODE_INVALID")
    return code


HANDLERS: dict[str, Handler] = {
    "getMe": get_me,
    "setMyCommands": set_my_commands,
}

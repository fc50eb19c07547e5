"""The app manifest, which is generated from the commands and uploaded once by hand."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from bot.commands import Command
from bot.slack.events import PLATFORM
from bot.slack.interactions import SHORTCUT
from engine.errors import UsageError
from engine.messages import Message

_PREFIX = re.compile(r"[a-z0-9_]{1,14}-", re.ASCII)

SCOPES = (
    "app_mentions:read",
    "channels:history",
    "chat:write",
    "commands",
    "files:write",
    "groups:history",
    "im:history",
    "reactions:write",
    "users:read",
)
# Without these, the bot greets nobody when it is invited; all else works.
GREETING_SCOPES = ("channels:read", "groups:read")
# Asked for only where links to the page are to be shown as cards.
LINK_SCOPES = ("links:read", "links:write")
LINK_EVENT = "link_shared"
EVENTS = (
    "app_home_opened",
    "app_mention",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
)


def manifest(
    commands: Sequence[Command], *, request_url: str = "", prefix: str = "", page: str = ""
) -> dict[str, object]:
    """Return the manifest; events come over HTTP if `request_url` is given, else over a socket.

    Links to `page`, the public address of the page, are shown as cards. With a `prefix` such as
    "omen-", each command also has a name of its own: /omen-why. Raises UsageError for one that
    Slack would refuse.
    """
    if prefix and not _PREFIX.fullmatch(prefix):
        raise UsageError(
            Message("{prefix!r} is no prefix. An example: omen-", prefix=prefix),
            fix=Message("Use up to {most} of a-z, 0-9 and _, and a hyphen at the end.", most=15),
        )
    over = {"request_url": request_url} if request_url else {}
    slash = [
        {
            "command": name,
            "description": command.summary[:2000],
            "usage_hint": command.usage.partition(" ")[2] or " ",
            "should_escape": False,
        }
        | ({"url": request_url} if request_url else {})
        for command in commands
        for name in (
            *(f"/{name}" for name in command.names_on(PLATFORM)),
            *([f"/{prefix}{command.name}"] if prefix else []),
        )
    ]
    own = {
        "command": "/presagio",
        "description": "any command of Presagio, such as /presagio why",
        "usage_hint": "SUBCOMMAND",
        "should_escape": False,
    } | ({"url": request_url} if request_url else {})
    domain = urlsplit(page).hostname
    unfurls = {"unfurl_domains": [domain]} if domain else {}
    scopes = (*SCOPES, *GREETING_SCOPES, *(LINK_SCOPES if domain else ()))
    events = sorted((*EVENTS, *((LINK_EVENT,) if domain else ())))
    return {
        "display_information": {
            "name": "Presagio",
            "description": "There is always a tweet: old posts that foresaw today's headlines.",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Presagio", "always_online": True},
            "shortcuts": [
                {
                    "name": "Find the prophecy",
                    "type": "message",
                    "callback_id": SHORTCUT,
                    "description": "Look for old tweets that foretold this",
                }
            ],
            "slash_commands": [*slash, own],
            **unfurls,
        },
        "oauth_config": {"scopes": {"bot": sorted(scopes)}},
        "settings": {
            "event_subscriptions": {"bot_events": events} | over,
            "interactivity": {"is_enabled": True} | over,
            "org_deploy_enabled": False,
            "socket_mode_enabled": not request_url,
            "token_rotation_enabled": False,
        },
    }

"""The manifest that a person uploads."""

import json
from pathlib import Path

from bot.commands import standard_commands
from bot.slack.manifest import EVENTS, GREETING_SCOPES, SCOPES, manifest
from tests.fakes.slack.app import EVENT_SCOPES, App

COMMITTED = Path(__file__).parents[3] / "deploy" / "slack-manifest.json"
COMMANDS = standard_commands().commands

# Slack's own commands, which an app cannot have: slack.com/help/articles/201259356.
# fmt: off
RESERVED = {
    "active", "apps", "archive", "away", "call", "collapse", "dm", "dnd", "expand", "feed",
    "feedback", "help", "huddle", "invite", "join", "keys", "kick", "leave", "list", "me",
    "msg", "mute", "open", "prefs", "pro", "remind", "remove", "rename", "search", "shortcuts",
    "shrug", "star", "status", "topic", "who",
}
# fmt: on


def test_the_manifest_in_the_repository_is_the_one_that_the_commands_make() -> None:
    assert json.loads(COMMITTED.read_text()) == manifest(COMMANDS)


def test_every_command_is_a_slash_command_but_those_that_slack_keeps_for_itself() -> None:
    names = {name for command in COMMANDS for name in command.names}
    offered = {one.lstrip("/") for one in App.from_manifest(manifest(COMMANDS)).commands or ()}
    assert offered == names - {"help", "start", "access", "usage"} | {"presagio"}
    assert not offered & RESERVED


def test_every_event_has_the_scope_that_it_asks_for() -> None:
    assert {EVENT_SCOPES[event] for event in EVENTS} <= {*SCOPES, *GREETING_SCOPES}


def test_over_http_every_way_in_leads_to_the_same_address() -> None:
    made = manifest(COMMANDS, request_url="https://bot.example/slack/events")
    text = json.dumps(made)
    assert text.count('"https://bot.example/slack/events"') == 2 + text.count('"command": ')
    assert '"socket_mode_enabled": false' in text
    assert "request_url" not in json.dumps(manifest(COMMANDS))

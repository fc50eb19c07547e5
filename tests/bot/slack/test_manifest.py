"""The manifest that a person uploads."""

import json
from pathlib import Path

import pytest

from bot.commands import standard_commands
from bot.slack.client import EVENTS, OPTIONAL_SCOPES, SCOPES, build_manifest
from engine.errors import UsageError
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
    assert json.loads(COMMITTED.read_text()) == build_manifest(COMMANDS)


def test_manifest_registers_all_commands_only_with_a_prefix() -> None:
    def offered(prefix: str) -> set[str]:
        made = App.from_manifest(build_manifest(COMMANDS, prefix=prefix))
        return {one.lstrip("/") for one in made.commands or ()}

    own = {"presagio", "prophecy"}
    assert offered("") == own
    assert offered("omen-") == own | {f"omen-{command.name}" for command in COMMANDS}
    assert all(len(name) <= 32 for name in offered("a" * 14 + "-"))
    assert not own & RESERVED


@pytest.mark.parametrize("prefix", ["omen", "Omen-", "a b-", "-", "é-", "a" * 15 + "-"])
def test_a_prefix_that_slack_would_refuse_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError):
        build_manifest(COMMANDS, prefix=prefix)


def test_every_event_has_the_scope_that_it_asks_for() -> None:
    asked = {EVENT_SCOPES[event] for event in EVENTS}
    assert asked <= {*SCOPES, *OPTIONAL_SCOPES}


def test_http_manifest_uses_one_request_url() -> None:
    made = build_manifest(COMMANDS, request_url="https://bot.example/slack/events")
    text = json.dumps(made)
    assert text.count('"https://bot.example/slack/events"') == 2 + text.count('"command": ')
    assert '"socket_mode_enabled": false' in text
    assert "request_url" not in json.dumps(build_manifest(COMMANDS))

"""What the stand-in tells the app, as Bolt reads it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from slack_bolt.request.payload_utils import is_event

from tests.fakes.slack import App, SlackServer, Timing, User
from tests.fakes.stand_in import listen


def events(slack: SlackServer) -> list[dict[str, Any]]:
    """The inner events that were sent, each checked to be one for Bolt."""
    bodies = [envelope.payload for envelope in slack.envelopes]
    assert all(is_event(body) for body in bodies)
    return [body["event"] for body in bodies]


def outline(slack: SlackServer) -> list[tuple[str, str]]:
    return [(event["type"], event.get("subtype", "")) for event in events(slack)]


async def test_the_bot_receives_nothing_from_channels_it_has_not_joined(
    slack: SlackServer, alice: User
) -> None:
    elsewhere = slack.channel("elsewhere", [alice], with_bot=False)
    await alice.mentions_bot(elsewhere, "hello?")
    assert slack.envelopes == []
    await alice.invites_bot(elsewhere)
    assert outline(slack)[0] == ("member_joined_channel", "")
    assert events(slack)[0]["user"] == slack.bot.id


@pytest.mark.parametrize(
    ("app", "heard"),
    [
        (App(events=frozenset({"app_mention"})), ["app_mention"]),
        (App(events=frozenset({"message.channels"})), ["message"]),
        (App(scopes=frozenset({"app_mentions:read"})), ["app_mention"]),
        (App(scopes=frozenset({"chat:write"})), []),
    ],
)
async def test_events_need_a_subscription_and_a_scope(app: App, heard: list[str]) -> None:
    async with SlackServer(app) as slack:
        alice = slack.user("alice")
        await alice.mentions_bot(slack.channel("general", [alice]), "hello")
        assert [event["type"] for event in events(slack)] == heard


MANIFEST: dict[str, Any] = {
    "display_information": {"name": "Presagio"},
    "features": {
        "slash_commands": [{"command": "/prophecy", "description": "Ask"}],
        "shortcuts": [{"name": "Find", "type": "message", "callback_id": "find"}],
    },
    "oauth_config": {"scopes": {"bot": ["commands", "im:history"]}},
    "settings": {"event_subscriptions": {"bot_events": ["message.im", "app_mention"]}},
}


async def test_a_manifest_decides_what_there_is() -> None:
    async with SlackServer(App.from_manifest(MANIFEST)) as slack:
        alice = slack.user("alice")
        direct, general = slack.im(alice), slack.channel("general", [alice])
        message = await alice.says(direct, "heard")
        await alice.mentions_bot(general, "subscribed, but without the scope")
        await alice.commands(direct, "/prophecy")
        await alice.uses_shortcut(message, "find")
        with pytest.raises(AssertionError, match="not a valid command"):
            await alice.commands(direct, "/other")
        with pytest.raises(AssertionError, match="no shortcut"):
            await alice.uses_shortcut(message, "other")
        kinds = [envelope.kind for envelope in slack.envelopes]
        assert slack.api.used_scopes == {"commands", "im:history"}
    assert kinds == ["events_api", "slash_commands", "interactive"]


PATH = "/slack/events"


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    """The request URL of an app on a free port."""
    runner, port = await listen(app)
    try:
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        await runner.cleanup()


def answering(*statuses: int) -> tuple[web.Application, list[web.Request]]:
    """An app that answers with each status in turn, and the requests it got."""
    requests: list[web.Request] = []

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        requests.append(request)
        return web.Response(status=statuses[min(len(requests), len(statuses)) - 1])

    app = web.Application()
    app.router.add_post(PATH, handle)
    return app, requests


async def test_a_refused_event_is_posted_again_with_number_and_reason() -> None:
    app, requests = answering(500, 200)
    async with SlackServer(timing=Timing(retries=(0.0,))) as slack, serving(app) as url:
        slack.use_http(url)
        alice = slack.user("alice")
        await alice.says(slack.im(alice), "hello")
        await slack.quiet()
    first, second = (request.headers for request in requests)
    assert "X-Slack-Retry-Num" not in first
    assert (second["X-Slack-Retry-Num"], second["X-Slack-Retry-Reason"]) == ("1", "http_error")
    assert slack.envelopes[0].acked


async def test_a_server_that_is_not_there_is_tried_again(slack: SlackServer) -> None:
    async with serving(web.Application()) as url:
        pass
    slack.use_http(url)
    alice = slack.user("alice")
    envelope = await alice.commands(slack.im(alice), "/prophecy")
    await envelope.until_settled()
    assert envelope.failure == "dispatch_failed"

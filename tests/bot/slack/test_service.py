"""The service against the known traps of Slack's libraries; each test fails without its cure."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from bot.adapter import AdapterFailed
from bot.request import Place
from bot.settings.model import SlackSettings
from bot.slack.events import SHORTCUT
from bot.slack.service import SlackService
from db.pool import Database
from engine.chat import Listening
from tests.bot.conversing import Bot, bot_on
from tests.bot.prophecies import NOW
from tests.fakes.slack import Fault, SlackServer, Timing, User
from tests.patience import PATIENCE, until

WATCH = 0.05
SECRETS = ("bot_token", "app_token", "signing_secret")


@pytest.fixture(autouse=True)
def _closely_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack.service._WATCH_SECONDS", WATCH)


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    """A Slack that waits for an ack for long, and sends an event again once."""
    async with SlackServer(timing=Timing(ack_within=PATIENCE, retries=(0.0,))) as server:
        yield server


@pytest.fixture
def alice(slack: SlackServer) -> User:
    return slack.user("alice")


@pytest.fixture
async def bot(database_url: str) -> AsyncIterator[Bot]:
    database = await Database.open(database_url)
    async with bot_on(database) as bot:
        yield bot
    await database.close()


def service(slack: SlackServer, bot: Bot, **settings: object) -> SlackService:
    secrets = {"bot_token": slack.bot_token, "app_token": slack.app_token}
    secrets |= {name: str(settings.pop(name)) for name in SECRETS if name in settings}
    chosen = SlackSettings(**{"api_base": slack.base_url, **settings})
    return SlackService(chosen, **secrets, conversation=bot.conversation, now=lambda: NOW)


@asynccontextmanager
async def running(slack: SlackServer, service: SlackService) -> AsyncIterator[None]:
    """The service listens until the block ends."""
    task = asyncio.create_task(service.run())
    try:
        await slack.until_connected()
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await slack.until_connected(0)


async def test_work_that_fails_at_once_does_not_lose_the_ack(
    slack: SlackServer, alice: User, bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("at once")

    listening = service(slack, bot)
    monkeypatch.setattr(listening, "_answer_event", fails)
    async with running(slack, listening):
        envelope = await alice.commands(slack.im(alice), "/prophecy", "Coffee")
        await envelope.until_settled()
        event = await alice.says(slack.im(alice), "Coffee")
        await slack.quiet()
    assert envelope.acked
    assert envelope.failure == ""
    assert [len(one.attempts) for one in slack.envelopes_of("message")] == [1], event


@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
async def test_start_retries_during_an_outage(
    slack: SlackServer,
    alice: User,
    bot: Bot,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
) -> None:
    monkeypatch.setattr("bot.slack.service._LONGEST_PAUSE", 0.01)
    for fault in (Fault(status=503), Fault(drop_before=True), Fault(error="internal_error")):
        slack.fail(method, fault)
    async with running(slack, service(slack, bot)):
        await alice.says(slack.im(alice), "Coffee")
        await slack.until(lambda: slack.bot_messages)
    warnings = [
        record.message for record in caplog.records if "cannot be reached" in record.message
    ]
    assert len(warnings) == 3


@pytest.mark.parametrize("refusals", [1, 3])
async def test_a_failed_connect_does_not_leave_the_bot_deaf(
    slack: SlackServer, alice: User, bot: Bot, refusals: int
) -> None:
    slack.refuse_connections(refusals)
    listening = service(slack, bot)
    async with running(slack, listening):
        assert slack.sockets.handshakes.count(503) == refusals
        await alice.says(slack.im(alice), "Coffee")
        await slack.until(lambda: slack.bot_messages)
        assert {message.channel for message in slack.bot_messages} == {slack.im(alice)}


async def test_a_lost_socket_is_told_and_comes_back(
    slack: SlackServer, alice: User, bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "presagio.slack")
    listening = service(slack, bot)
    assert str(listening.status()) == "not listening (Socket Mode)"
    async with running(slack, listening):
        await until(lambda: listening.status().listening)
        slack.refuse_connections(5)
        slack.connections[0].drop()
        await until(lambda: not listening.status().listening)
        await until(lambda: listening.status().listening)
        await alice.says(slack.im(alice), "Coffee")
        await slack.until(lambda: slack.bot_messages)
    assert not listening.status().listening
    assert "the socket is closed" in caplog.text
    assert "ticket" not in caplog.text


async def test_a_frozen_line_is_replaced(slack: SlackServer, alice: User, bot: Bot) -> None:
    listening = service(slack, bot)
    async with running(slack, listening):
        frozen = slack.connections[0]
        frozen.frozen = True
        await slack.until(lambda: any(connection is not frozen for connection in slack.connections))
        await slack.until(lambda: frozen not in slack.connections)
        await alice.says(slack.im(alice), "Coffee")
        await slack.until(lambda: slack.bot_messages)
        assert {message.channel for message in slack.bot_messages} == {slack.im(alice)}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"app_token": "xapp-wrong"}, "invalid_auth"),
        ({"bot_token": "xoxb-wrong"}, "invalid_auth"),
        ({"app_token": "xoxb-stand-in"}, "not_allowed_token_type"),
        ({"app_token": ""}, "neither an app token nor a signing secret"),
    ],
)
async def test_a_service_that_cannot_start_says_so_within_seconds(
    slack: SlackServer, bot: Bot, settings: dict[str, object], said: str
) -> None:
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(AdapterFailed, match=said) as failed:
            await service(slack, bot, **settings).run()
    assert "xoxb" not in str(failed.value)
    assert "xapp" not in str(failed.value)


async def test_failing_auth_test_after_the_start_loses_no_event(
    slack: SlackServer, alice: User, bot: Bot
) -> None:
    async with running(slack, service(slack, bot)):
        slack.fail("auth.test", Fault(error="internal_error"), times=None)
        await alice.says(slack.im(alice), "Coffee")
        await slack.until(lambda: slack.bot_messages)
        await slack.quiet()
    assert [message.text for message in slack.bot_messages if "install" in message.text] == []
    assert len(slack.calls_of("auth.test")) == 1


async def test_ignored_events_are_acknowledged(slack: SlackServer, alice: User, bot: Bot) -> None:
    async with running(slack, service(slack, bot)):
        message = await alice.says(slack.im(alice), "Coffee")
        await slack.until(lambda: slack.bot_messages)
        assert await slack.redeliver(slack.envelopes[0]) == ""
        await alice.edits(message, "Tea")
        # An app that was set up by an earlier manifest still sends reactions.
        await slack.tell_event({"type": "reaction_added", "user": alice.id, "reaction": "+1"})
        await slack.tell_event({"type": "team_join", "user": {"id": alice.id}})
        await slack.quiet()
    assert [len(envelope.acks) for envelope in slack.envelopes if not envelope.acked] == []
    assert len(slack.bot_messages) == 1
    assert len(slack.envelopes[0].acks) == 2


async def test_known_user_does_not_overtake_an_earlier_message(
    slack: SlackServer, alice: User, bot: Bot
) -> None:
    bob, general = slack.user("bob"), slack.channel("general", [alice])
    async with running(slack, service(slack, bot)):
        await alice.mentions_bot(general, "Coffee")
        await slack.until(lambda: len(slack.bot_messages) == 1)
        slack.fail("users.info", Fault(delay=0.3))
        second = await bob.mentions_bot(general, "Tea")
        third = await alice.mentions_bot(general, "Milk")
        await slack.until(lambda: len(slack.bot_messages) == 3)
    assert [message.thread_ts for message in slack.bot_messages[1:]] == [second.ts, third.ts]


async def test_drain_waits_for_a_pending_user_lookup(
    slack: SlackServer, alice: User, bot: Bot
) -> None:
    listening = service(slack, bot)
    task = asyncio.create_task(listening.run())
    await slack.until_connected()
    slack.fail("users.info", Fault(delay=0.3))
    await alice.says(slack.im(alice), "Coffee")
    await slack.until(lambda: slack.calls_of("users.info"))
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert slack.bot_messages == []
    assert await bot.conversation.drain(PATIENCE)
    assert len(slack.bot_messages) == 1


async def test_a_message_shortcut_is_answered_where_only_commands_are_listened_to(
    slack: SlackServer, alice: User, bot: Bot
) -> None:
    general = slack.channel("general", [alice])
    await bot.set_up(
        Place(platform="slack", chat_id=general.id, private=False),
        listening=Listening.parse("commands"),
    )
    async with running(slack, service(slack, bot)):
        message = await alice.says(general, "Coffee prices")
        await alice.uses_shortcut(message, SHORTCUT)
        await slack.until(lambda: slack.bot_messages)
        await alice.mentions_bot(general, "Tea")
        await slack.quiet()
        assert await bot.conversation.drain(PATIENCE)
    (answer,) = slack.bot_messages
    assert answer.thread_ts == message.ts
    assert "Tweet number 1 about coffee" in answer.visible


async def test_an_invitation_makes_a_chat_active_again(
    slack: SlackServer, alice: User, bot: Bot
) -> None:
    channel = slack.channel("general", [alice], with_bot=False)
    chats = bot.app.chats
    await chats.meet("slack", channel.id, private=False, title=None)
    await chats.set_active("slack", channel.id, active=False)
    async with running(slack, service(slack, bot)):
        await alice.invites_bot(channel)
        await slack.until(lambda: any(message.subtype == "" for message in slack.bot_messages))
    known = await chats.find_chat("slack", channel.id)
    assert known
    assert known.active

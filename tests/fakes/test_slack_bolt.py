"""Bolt against the stand-in: it works, and each known trap of it is there to be cured."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncSay
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError

from tests.fakes.bolt import bolt_app, connect, connected, socket_mode, web_client
from tests.fakes.slack import Fault, SlackServer, Timing

QUICK = Timing(ack_within=0.3, retries=(0.0, 0.05))


@pytest.fixture
async def impatient() -> AsyncIterator[SlackServer]:
    """One that soon gives up waiting, for tests in which it waits in vain."""
    async with SlackServer(timing=QUICK) as server:
        yield server


def echo(app: AsyncApp) -> list[str]:
    """Answer mentions in their thread; returns the list of what was heard."""
    heard: list[str] = []

    async def answer(event: dict[str, Any], say: AsyncSay) -> None:
        heard.append(event["text"])
        await say(text=f"heard: {event['text']}", thread_ts=event["ts"])

    async def ignore() -> None:
        """A catch-all for the other events, so that they are acknowledged."""

    app.event("app_mention")(answer)
    app.event("message")(ignore)
    return heard


async def just_ack(ack: AsyncAck) -> None:
    await ack()


async def fails() -> None:
    raise RuntimeError("the listener fails")


async def test_a_mention_is_answered_once_in_its_thread(slack: SlackServer) -> None:
    app = bolt_app(slack)
    echo(app)
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    async with connected(app, slack):
        question = await alice.mentions_bot(general, "Pope visits Cuba")
        reply = await general.until(lambda message: message.author is slack.bot)
        await slack.quiet()
    assert reply.thread_ts == question.ts
    assert slack.bot_messages == [reply]
    assert all(len(envelope.acks) == len(envelope.attempts) == 1 for envelope in slack.envelopes)
    assert {envelope.event_type for envelope in slack.envelopes} == {"app_mention", "message"}


async def test_bolt_answers_a_redelivered_event_again(slack: SlackServer) -> None:
    app = bolt_app(slack)
    heard = echo(app)
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    async with connected(app, slack):
        await alice.mentions_bot(general, "once")
        await slack.quiet()
        (mention,) = slack.envelopes_of("app_mention")
        assert await slack.redeliver(mention) == ""
        assert len(mention.acks) == 2
        await slack.until(lambda: len(slack.bot_messages) == 2)
    assert len(heard) == 2


async def raises_after_ack(ack: AsyncAck) -> None:
    await ack()
    raise RuntimeError("the listener fails")


async def test_trap_1_a_listener_that_raises_soon_after_ack_loses_the_ack(
    impatient: SlackServer,
) -> None:
    app = bolt_app(impatient)
    app.command("/prophecy")(raises_after_ack)
    alice = impatient.user("alice")
    async with connected(app, impatient):
        envelope = await alice.commands(impatient.im(alice), "/prophecy")
        await envelope.until_settled()
    assert not envelope.acked
    assert envelope.failure == "operation_timeout"


async def test_trap_1_is_cured_by_a_lazy_listener(slack: SlackServer) -> None:
    app = bolt_app(slack)
    app.command("/prophecy")(ack=just_ack, lazy=[fails])
    alice = slack.user("alice")
    async with connected(app, slack):
        envelope = await alice.commands(slack.im(alice), "/prophecy")
        await envelope.until_settled()
    assert envelope.acked


async def test_trap_2_one_failed_connect_on_an_issued_address_leaves_the_client_deaf(
    slack: SlackServer,
) -> None:
    slack.refuse_connections(1)
    async with socket_mode(bolt_app(slack), slack, ping_seconds=0.05) as handler:
        connecting = asyncio.create_task(connect(handler))
        await slack.until(lambda: len(slack.sockets.handshakes) >= 4)
        assert slack.sockets.handshakes[:4] == [503, 403, 403, 403]
        assert len(slack.calls_of("apps.connections.open")) == 1
        assert not connecting.done()

        handler.client.wss_uri = None  # the cure
        await slack.until_connected()
        await connecting
    assert len(slack.calls_of("apps.connections.open")) == 2


async def test_trap_3_a_bad_app_token_makes_connecting_neither_fail_nor_end(
    slack: SlackServer,
) -> None:
    async with socket_mode(
        bolt_app(slack), slack, app_token="xapp-wrong", ping_seconds=0.05
    ) as handler:
        connecting = asyncio.create_task(connect(handler))
        await slack.until(lambda: len(slack.calls_of("apps.connections.open")) >= 3)
        assert not connecting.done()
        connecting.cancel()
    answers = [call.answer for call in slack.calls_of("apps.connections.open")]
    assert {"ok": False, "error": "invalid_auth"} in answers


async def test_trap_3_is_cured_by_checking_the_token_first(slack: SlackServer) -> None:
    client = web_client(slack)
    with pytest.raises(SlackApiError, match="invalid_auth"):
        await client.apps_connections_open(app_token="xapp-wrong")
    assert (await client.apps_connections_open(app_token=slack.app_token))["ok"]


async def test_trap_4_one_failed_auth_test_consumes_the_event(slack: SlackServer) -> None:
    app = bolt_app(slack)
    heard = echo(app)
    app.command("/prophecy")(just_ack)
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    slack.fail("auth.test", Fault(error="internal_error"), times=3)
    async with connected(app, slack):
        await alice.mentions_bot(general, "lost for ever")
        await slack.quiet()
        assert [len(envelope.acks) for envelope in slack.envelopes] == [1, 1]
        await alice.commands(general, "/prophecy", "lost too")
        notice = await general.until(lambda message: message.ephemeral_to is alice)
        await alice.mentions_bot(general, "the next one")
        await slack.until(lambda: heard)
    assert len(heard) == 1
    assert "reinstall" in notice.text


async def test_trap_4_is_cured_by_an_authorize_of_ones_own(slack: SlackServer) -> None:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=None,
            bot_token=slack.bot_token,
            bot_id=slack.bot.bot_id,
            bot_user_id=slack.bot.id,
        )

    app = AsyncApp(client=web_client(slack, ""), authorize=authorize, signing_secret="s")
    heard = echo(app)
    alice = slack.user("alice")
    slack.fail("auth.test", Fault(error="internal_error"), times=None)
    async with connected(app, slack):
        await alice.mentions_bot(slack.channel("general", [alice]), "heard")
        await slack.until(lambda: slack.bot_messages)
    assert len(heard) == 1


async def drops() -> None:
    """Middleware that neither goes on nor answers."""


async def test_trap_5_middleware_that_drops_without_an_answer_makes_slack_send_again(
    impatient: SlackServer,
) -> None:
    app = bolt_app(impatient)
    app.middleware(drops)
    alice = impatient.user("alice")
    async with connected(app, impatient):
        await alice.says(impatient.channel("general", [alice]), "hello")
        (envelope,) = impatient.envelopes
        await envelope.until_settled()
    assert not envelope.acked
    sent = [(attempt.number, attempt.reason) for attempt in envelope.attempts]
    assert sent == [(0, ""), (1, "timeout"), (2, "timeout")]


async def test_trap_5_is_cured_by_answering_200(slack: SlackServer) -> None:
    async def drops_politely() -> BoltResponse:
        return BoltResponse(status=200)

    app = bolt_app(slack)
    app.middleware(drops_politely)
    alice = slack.user("alice")
    async with connected(app, slack):
        await alice.says(slack.channel("general", [alice]), "hello")
        await slack.quiet()
    assert [len(envelope.attempts) for envelope in slack.envelopes] == [1]
    assert slack.envelopes[0].acked


async def test_own_messages_come_back_as_events_and_bolt_passes_them_by(
    slack: SlackServer,
) -> None:
    app = bolt_app(slack)
    heard: list[dict[str, Any]] = []

    async def listen(event: dict[str, Any]) -> None:
        heard.append(event)

    app.event("message")(listen)
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    async with connected(app, slack):
        await app.client.chat_postMessage(channel=general.id, text="mine")
        await alice.says(general, "hers")
        await slack.quiet()
        await slack.until(lambda: heard)
    assert [event["text"] for event in heard] == ["hers"]
    assert len(slack.envelopes) == 2


async def test_a_new_connection_is_made_when_slack_asks_for_it(slack: SlackServer) -> None:
    app = bolt_app(slack)
    heard = echo(app)
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    async with connected(app, slack):
        (first,) = slack.connections
        await slack.disconnect("refresh_requested")
        await slack.until(lambda: slack.connections and first not in slack.connections)
        await alice.mentions_bot(general, "still there?")
        await slack.until(lambda: heard)
        assert first not in slack.connections
    assert len(slack.calls_of("apps.connections.open")) == 2


@pytest.mark.parametrize("how", ["dropped", "frozen"])
async def test_the_client_comes_back_after_a_dead_line(slack: SlackServer, how: str) -> None:
    app = bolt_app(slack)
    heard = echo(app)
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    async with connected(app, slack, ping_seconds=0.2):
        (first,) = slack.connections
        if how == "dropped":
            first.drop()
        else:
            first.frozen = True
        await slack.until(lambda: slack.connections and first not in slack.connections)
        await alice.mentions_bot(general, "still there?")
        await slack.until(lambda: heard)
        assert first not in slack.connections


async def test_both_sides_are_kept_alive_by_pings(slack: SlackServer) -> None:
    async with connected(bolt_app(slack), slack, ping_seconds=0.2):
        (connection,) = slack.connections
        await slack.until(lambda: connection.pings >= 2 and connection.pongs >= 1)
        assert slack.connections == [connection]

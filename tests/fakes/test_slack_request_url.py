"""Signed HTTP events of the stand-in, judged by SignatureVerifier and by Bolt's own server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from slack_bolt.async_app import AsyncAck, AsyncRespond, AsyncSay
from slack_sdk.models.blocks import ActionsBlock, ButtonElement
from slack_sdk.signature import Clock, SignatureVerifier

from tests.fakes.bolt import bolt_app
from tests.fakes.slack import Signing, SlackServer, Timing
from tests.fakes.slack.request_url import signed_headers

PATH = "/slack/events"


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    """The request URL of an app on a free port."""
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}{PATH}"
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


class FixedClock(Clock):
    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


@given(st.text().map(str.encode), st.integers(min_value=0, max_value=2**31))
def test_the_verifier_of_the_sdk_accepts_every_signature(body: bytes, timestamp: int) -> None:
    headers = signed_headers(body, secret="s3cret", timestamp=timestamp)
    assert SignatureVerifier("s3cret", FixedClock(timestamp)).is_valid_request(body, headers)
    assert not SignatureVerifier("other", FixedClock(timestamp)).is_valid_request(body, headers)
    late = FixedClock(timestamp + 301)
    assert not SignatureVerifier("s3cret", late).is_valid_request(body, headers)


async def test_events_commands_and_clicks_reach_bolt_over_http(slack: SlackServer) -> None:
    app = bolt_app(slack)
    done: list[str] = []

    async def mentioned(say: AsyncSay, event: dict[str, Any]) -> None:
        blocks = [ActionsBlock(elements=[ButtonElement(text="More", action_id="more")])]
        await say(text="answer", blocks=blocks, thread_ts=event["ts"])

    async def commanded(ack: AsyncAck, respond: AsyncRespond) -> None:
        await ack("at once")
        await respond("later")

    async def pressed(ack: AsyncAck) -> None:
        await ack()
        done.append("pressed")

    async def other() -> None:
        """Everything else is acknowledged."""

    app.event("app_mention")(mentioned)
    app.event("message")(other)
    app.command("/prophecy")(commanded)
    app.action("more")(pressed)

    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    async with serving(app.web_app(path=PATH)) as url:
        await slack.use_http(url).verify()
        await alice.mentions_bot(general, "Pope visits Cuba — ¿qué?")
        reply = await general.until(lambda message: message.author is slack.bot)
        await (await alice.clicks(reply, "More")).until_acked()
        await alice.commands(general, "/prophecy", "a & b = c")
        await general.until(lambda message: message.text == "later")
        await slack.quiet()
    assert done == ["pressed"]
    # Bolt looks for the acknowledgement every 10 ms, so the answer may well overtake it.
    assert {message.text for message in general.ephemerals} == {"at once", "later"}
    assert all(envelope.acked for envelope in slack.envelopes)
    assert slack.connections == []


@pytest.mark.parametrize("signing", [Signing(age=301), Signing(secret="not the secret")])
async def test_old_timestamps_and_bad_signatures_are_refused_by_bolt(
    slack: SlackServer, signing: Signing
) -> None:
    app = bolt_app(slack)
    heard: list[str] = []

    async def listen(event: dict[str, Any]) -> None:
        heard.append(event["text"])

    app.event("message")(listen)
    alice = slack.user("alice")
    async with serving(app.web_app(path=PATH)) as url:
        slack.use_http(url)
        await alice.says(slack.im(alice), "hello")
        await slack.quiet()
        (envelope,) = slack.envelopes
        assert await slack.redeliver(envelope, signing=signing) == "http_error"
        assert await slack.redeliver(envelope) == ""
        await slack.until(lambda: len(heard) == 2)


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


async def test_an_address_that_does_not_return_the_challenge_is_not_verified(
    slack: SlackServer,
) -> None:
    app, _ = answering(200)
    async with serving(app) as url:
        with pytest.raises(AssertionError):
            await slack.use_http(url).verify()


async def test_a_server_that_is_slow_is_tried_again() -> None:
    requests: list[web.Request] = []

    async def handle(request: web.Request) -> web.Response:
        requests.append(request)
        if len(requests) == 1:
            await asyncio.Event().wait()
        return web.Response()

    app = web.Application()
    app.router.add_post(PATH, handle)
    timing = Timing(ack_within=0.5, retries=(0.0,))
    async with SlackServer(timing=timing) as slack, serving(app) as url:
        slack.use_http(url)
        alice = slack.user("alice")
        await alice.says(slack.im(alice), "hello")
        await slack.quiet()
    assert requests[1].headers["X-Slack-Retry-Reason"] == "http_timeout"

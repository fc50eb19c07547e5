"""Signed HTTP events of the stand-in, judged by SignatureVerifier and by Bolt's own server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.fakes.slack import SlackServer, Timing

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

"""Events over signed HTTP requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from io import BytesIO

import aiohttp
import pytest

from tests.ages import read_years
from tests.fakes.slack import RequestUrl, Signing
from tests.network import find_free_port
from tests.patience import PATIENCE
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE


@pytest.fixture
def request_url(slack_stage: SlackStage) -> RequestUrl:
    return slack_stage.use_requests(find_free_port())


@pytest.fixture
async def http_bot(slack_stage: SlackStage, request_url: RequestUrl) -> AsyncIterator[SlackStage]:
    """A bot that listens for HTTP."""
    async with slack_stage.serving(lambda: slack_stage.slack.calls_of("auth.test")):
        await until_taken(request_url)
        await request_url.verify()
        yield slack_stage


async def until_taken(request_url: RequestUrl) -> None:
    """Wait until events are taken: the port opens first and refuses them until then."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(aiohttp.ClientError):
                status, _ = await request_url.post(b"{}", {"Content-Type": "application/json"})
                if status != 503:
                    return
            await asyncio.sleep(0.01)


async def test_messages_commands_and_buttons_come_over_one_address(http_bot: SlackStage) -> None:
    await http_bot.alice.mentions_bot(http_bot.general, HEADLINE)
    (answer,) = await http_bot.replies(1)
    assert len(read_years(answer.visible)) == 3
    await http_bot.alice.clicks(answer, "More")
    await http_bot.replies(2)
    command = await http_bot.alice.commands(http_bot.general, "/presagio", "why")
    await http_bot.replies(3)
    assert await http_bot.slack.redeliver(http_bot.slack.envelopes[0]) == ""
    await http_bot.alice.uses_shortcut(answer, "find_prophecy")
    await http_bot.replies(4)
    assert command.acks[0].payload is None


@pytest.mark.parametrize(
    "signing",
    [Signing(secret="wrong"), Signing(age=3600), Signing(age=-3600), Signing(age=10**400)],
    ids=["secret", "past", "future", "400 digits"],
)
async def test_a_request_without_a_fresh_slack_signature_is_refused(
    http_bot: SlackStage, request_url: RequestUrl, signing: Signing
) -> None:
    request_url.signing = signing
    before = len(http_bot.slack.calls)
    for body in (b'{"type": "event_callback", "event": {"type": "message"}}', b"{", b"[]", b"\xff"):
        status, _ = await request_url.post(body, {"Content-Type": "application/json"})
        assert status == 401
    assert len(http_bot.slack.calls) == before


async def test_foreign_requests_are_refused_without_an_error_log(
    http_bot: SlackStage, request_url: RequestUrl, caplog: pytest.LogCaptureFixture
) -> None:
    async with aiohttp.ClientSession() as session:
        for method, path, data, expected in (
            ("GET", "", b"", 405),
            ("POST", "/else", b"{}", 404),
            ("POST", "", b"{}", 401),
            ("POST", "", b"x" * (2 << 20), 413),
        ):
            async with session.request(
                method, request_url.url + path, data=BytesIO(data)
            ) as response:
                assert response.status == expected, (method, path)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
NO_EVENTS = (
    (b"{", JSON),
    (b"[]", JSON),
    (b"null", JSON),
    (b"[" * 100_000, JSON),
    (b'{"type": "event_callback", "event": 5}', JSON),
    (b'{"type": "event_callback", "authorizations": 5, "event": {}}', JSON),
    (b"payload={", FORM),
    (b'payload={"type": "block_actions", "actions": 5}', FORM),
    (b"{}", "text/plain; charset=klingon"),
)


async def test_a_signed_request_without_an_event_is_rejected(
    http_bot: SlackStage, request_url: RequestUrl, caplog: pytest.LogCaptureFixture
) -> None:
    for body, kind in NO_EVENTS:
        status, _ = await request_url.post(body, {"Content-Type": kind})
        assert status == 400, body[:60]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []

"""response_url of the stand-in, through the official webhook client."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.fakes.slack import Channel, SlackServer, User


class Clock:
    """Time that a test sets forward."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def slack(clock: Clock) -> AsyncIterator[SlackServer]:
    async with SlackServer(clock=clock) as server:
        yield server


async def hook(alice: User, channel: Channel) -> AsyncWebhookClient:
    envelope = await alice.commands(channel, "/prophecy")
    return AsyncWebhookClient(envelope.payload["response_url"])


async def test_a_response_url_accepts_five_responses(alice: User, general: Channel) -> None:
    client = await hook(alice, general)
    answers = [await client.send(text=str(number)) for number in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert "used_url" in answers[-1].body
    assert len(general.ephemerals) == 5


async def test_a_response_url_expires_after_half_an_hour(
    alice: User, general: Channel, clock: Clock
) -> None:
    client = await hook(alice, general)
    clock.now += 30 * 60
    assert (await client.send(text="just in time")).status_code == 200
    clock.now += 1
    late = await client.send(text="too late")
    assert late.status_code == 404
    assert "expired_url" in late.body


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"blocks": [{"type": "section"}]}, "invalid_blocks"),
        ({"text": "x" * 40_001}, "msg_too_long"),
    ],
)
async def test_a_refused_response_does_not_count_towards_the_limit(
    alice: User, general: Channel, content: Any, error: str
) -> None:
    client = await hook(alice, general)
    refused = await client.send_dict(content)
    assert refused.status_code == 400
    assert error in refused.body
    answers = [await client.send(text="x") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5

"""The stand-in of Slack, with one member and one channel."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.slack import Channel, SlackServer, User


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        yield server


@pytest.fixture
def alice(slack: SlackServer) -> User:
    return slack.user("alice")


@pytest.fixture
def general(slack: SlackServer, alice: User) -> Channel:
    return slack.channel("general", [alice])

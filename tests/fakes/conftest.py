"""The stand-in of Slack, with one member and one channel; its own tests are slow ones."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.slack import Channel, SlackServer, User

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import none of the stand-ins' own tests where slow ones are not wanted."""
    return (config.option.markexpr == "not slow" and collection_path != HERE) or None


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the stand-ins' own tests to `make test-slow`: they test nothing that people run."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)


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

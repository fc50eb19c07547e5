"""The workspace that scenarios play in."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.slack import App, SlackServer
from tests.scenarios.slack.stage import SlackStage, slack_staged


@pytest.fixture
async def slack_stage(coffee_url: str, installed: App) -> AsyncIterator[SlackStage]:
    """Stand-ins around a bot that does not run yet."""
    async with slack_staged(coffee_url, SlackServer(installed)) as stage:
        yield stage


@pytest.fixture
async def slack_bot(slack_stage: SlackStage) -> AsyncIterator[SlackStage]:
    """The same with a bot that listens."""
    async with slack_stage.serving():
        yield slack_stage

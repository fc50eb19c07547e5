"""The stage that scenarios play on."""

from collections.abc import AsyncIterator

import pytest

from tests.scenarios.stage import Stage, staged


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    """Stand-ins around a bot that does not run yet."""
    async with staged(database_url) as stage:
        yield stage


@pytest.fixture
async def bot(stage: Stage) -> AsyncIterator[Stage]:
    """The same with a bot that listens."""
    async with stage.serving():
        yield stage

"""The stage that scenarios play on."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.slack import App
from tests.scenarios.stage import Stage, staged

MANIFEST = Path(__file__).parents[2] / "deploy" / "slack-manifest.json"


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


@pytest.fixture
def installed() -> App:
    """The app as Slack installs it from the project's manifest: no scope beyond it."""
    return App.from_manifest(json.loads(MANIFEST.read_text()))

"""The stage that scenarios play on."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from bot.conversation.conversation import Conversation
from tests.fakes.slack import App, SlackServer
from tests.isolation import forked_workers
from tests.patience import PATIENCE
from tests.scenarios.adapters import ConsoleTalk, SlackTalk, Talk, TelegramTalk
from tests.scenarios.slack.stage import SlackStage, slack_staged
from tests.scenarios.stage import Stage, Surroundings, staged, surroundings

MANIFEST = Path(__file__).parents[2] / "deploy" / "slack-manifest.json"


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave scenarios to `make test-slow` that another platform plays in the same way."""
    for item in items:
        if not item.get_closest_marker("each_platform"):
            chosen = item.callspec.params if hasattr(item, "callspec") else {}
            if chosen.get("talk", "telegram") != "telegram":
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def _forked_workers() -> Iterator[None]:
    with forked_workers():
        yield


@pytest.fixture(autouse=True)
def show_steps_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Show no steps, as every answer is slow on a busy machine; a test of steps says when."""

    def show_after(seconds: float) -> None:
        monkeypatch.setattr("bot.conversation.conversation._SOON_SECONDS", seconds)
        monkeypatch.setattr("bot.serve.Conversation", partial(Conversation, step_after=seconds))

    show_after(PATIENCE)
    return show_after


@pytest.fixture
async def stage(coffee_url: str) -> AsyncIterator[Stage]:
    """Stand-ins around a bot that does not run yet."""
    async with staged(coffee_url) as stage:
        yield stage


@pytest.fixture(params=["telegram", "slack", "console"])
async def talk(
    request: pytest.FixtureRequest,
    coffee_url: str,
    installed: App,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Talk]:
    """A person on each platform, and a bot that does not run yet."""
    if request.param == "telegram":
        async with staged(coffee_url) as stage:
            yield TelegramTalk(stage)
    elif request.param == "slack":
        async with slack_staged(coffee_url, SlackServer(installed)) as workspace:
            yield SlackTalk(workspace)
    else:
        async with surroundings() as (model, web):
            around = Surroundings(database_url=coffee_url, model=model, web=web)
            yield ConsoleTalk(around, monkeypatch)


@pytest.fixture
async def bot(stage: Stage) -> AsyncIterator[Stage]:
    """The same with a bot that listens."""
    async with stage.serving():
        yield stage


@pytest.fixture
async def slack_stage(coffee_url: str, installed: App) -> AsyncIterator[SlackStage]:
    """Stand-ins of a workspace around a bot that does not run yet."""
    async with slack_staged(coffee_url, SlackServer(installed)) as stage:
        yield stage


@pytest.fixture
def owned_workspace(slack_stage: SlackStage) -> SlackStage:
    """The same with a bot that is to have an owner."""
    slack_stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
    return slack_stage


@pytest.fixture
async def slack_bot(slack_stage: SlackStage) -> AsyncIterator[SlackStage]:
    """The same with a bot that listens."""
    async with slack_stage.serving():
        yield slack_stage


@pytest.fixture
def installed() -> App:
    """The app as Slack installs it from the project's manifest: no scope beyond it."""
    return App.from_manifest(json.loads(MANIFEST.read_text()))

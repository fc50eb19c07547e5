"""What the log holds at its most talkative, with the libraries that people use."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.bot.command_line import PROGRAM, SECONDS
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE, TWEETS, Stage, Surroundings

pytestmark = pytest.mark.slow

TALKATIVE = {"PRESAGIO_LOGGING__LEVEL": "debug"}
KEY = "sk-or-v1-a-key-that-nobody-may-read"


@asynccontextmanager
async def talking(stage: Surroundings, log: Path) -> AsyncIterator[None]:
    """`presagio serve` that writes what it can into `log`, which is whole after the block."""
    environ = os.environ | stage.environ | TALKATIVE | {"OPENROUTER_API_KEY": KEY}
    with (
        log.open("wb") as written,
        subprocess.Popen([PROGRAM, "serve"], env=environ, stderr=written) as one,  # noqa: ASYNC220 - it starts at once
    ):
        try:
            yield
            one.terminate()
            one.wait(SECONDS)
        finally:
            one.kill()


def assert_holds_nothing(log: Path, *secrets: str) -> None:
    text = log.read_text()
    assert "presagio." in text  # it was written
    for each in (KEY, HEADLINE, *TWEETS, *secrets):
        assert each not in text
    loggers = {
        line.split()[3] for line in text.splitlines() if " DEBUG " in line or " INFO " in line
    }
    assert {name.split(".")[0] for name in loggers} <= {"presagio", "db"}


async def test_debug_log_of_telegram_contains_no_secrets_or_messages(
    stage: Stage, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    alice, chat = stage.telegram.alone("Alice")
    async with talking(stage, log):
        await stage.telegram.until_called("getUpdates", 1, timeout=SECONDS)
        await (await alice.says(chat, HEADLINE)).answer()
    number, _, secret = stage.telegram.token.partition(":")
    assert_holds_nothing(log, stage.telegram.token, f"bot{number}", secret)


async def test_debug_log_of_slack_contains_no_secrets_or_messages(
    slack_stage: SlackStage, tmp_path: Path
) -> None:
    log, slack = tmp_path / "log", slack_stage.slack
    async with talking(slack_stage, log):
        await slack.until(lambda: slack.connections, within=SECONDS)
        await slack_stage.alice.mentions_bot(slack_stage.general, HEADLINE)
        await slack_stage.reply(slack_stage.general)
    assert_holds_nothing(log, slack.bot_token, slack.app_token, "ticket", "xoxb", "xapp")

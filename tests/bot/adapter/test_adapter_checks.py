"""`presagio doctor` asks each platform whether it accepts the tokens."""

from collections.abc import AsyncIterator

import pytest

from bot.adapter import AdapterFailed
from bot.commands import standard_commands
from bot.settings import load_settings
from bot.slack.client import build_manifest, check_slack
from bot.slack.platform import SLACK
from bot.telegram.client import check_telegram
from bot.telegram.platform import TELEGRAM
from tests.fakes.slack import App, SlackServer
from tests.fakes.telegram import TelegramServer


async def test_telegram_names_the_bot() -> None:
    async with TelegramServer() as server:
        environ = {"TELEGRAM_BOT_TOKEN": server.token, "PRESAGIO_TELEGRAM__API_BASE": server.root}
        said = await TELEGRAM.check(load_settings(environ=environ))
        assert said == f"@{server.bot.username}, polling"


async def test_telegram_says_what_the_bot_may_not_do() -> None:
    async with TelegramServer() as server:
        server.world.withheld = frozenset({"can_join_groups", "supports_inline_queries"})
        said = await check_telegram(server.token, server.root, "")
    assert "may not be added to groups (/setjoingroups) at @BotFather" in said
    assert "cannot be asked inline (/setinline) at @BotFather" in said


async def test_telegram_with_a_wrong_token() -> None:
    async with TelegramServer() as server:
        with pytest.raises(AdapterFailed, match="refuses the token") as caught:
            await check_telegram("1:wrong", server.root, "")
        assert "wrong" not in str(caught.value)


async def test_telegram_check_fails_if_telegram_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.telegram.client._PAUSES", (0.0,))
    with pytest.raises(AdapterFailed, match="cannot be reached: All connection attempts failed"):
        await check_telegram("1:x", "http://127.0.0.1:1", "")


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    """A workspace that grants what the manifest asks for."""
    app = App.from_manifest(build_manifest(standard_commands().commands))
    async with SlackServer(app=app) as server:
        yield server


async def test_slack_check_reports_socket_mode(slack: SlackServer) -> None:
    environ = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "PRESAGIO_SLACK__API_BASE": slack.base_url,
    }
    said = await SLACK.check(load_settings(environ=environ))
    assert said.endswith("Socket Mode")


@pytest.mark.parametrize(
    ("app_token", "said"), [("xapp-wrong", "Slack refuses"), ("", "SLACK_APP_TOKEN")]
)
async def test_slack_check_needs_a_valid_app_token(
    slack: SlackServer, app_token: str, said: str
) -> None:
    with pytest.raises(AdapterFailed, match=said):
        await check_slack(slack.bot_token, app_token, "", slack.base_url)


async def test_slack_check_names_the_missing_scopes() -> None:
    async with SlackServer() as server:
        with pytest.raises(AdapterFailed, match=r"did not grant: .*commands"):
            await check_slack(server.bot_token, server.app_token, "", server.base_url)

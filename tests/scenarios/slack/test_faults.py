"""What goes wrong around the bot, and what people see of it."""

import logging

import pytest

from tests.fakes.slack import Channel, Fault
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE


@pytest.fixture
def direct(slack_bot: SlackStage) -> Channel:
    return slack_bot.slack.im(slack_bot.alice)


async def ask_again(bot: SlackStage, direct: Channel, messages: int) -> None:
    """The bot still answers, and this is all that it has said."""
    await bot.alice.says(direct, "Coffee prices rise")
    await bot.replies(messages)


async def test_a_rate_limit_is_waited_for(slack_bot: SlackStage, direct: Channel) -> None:
    slack = slack_bot.slack
    slack.fail("chat.postMessage", Fault(error="ratelimited", retry_after=1))
    await slack_bot.alice.says(direct, HEADLINE)
    await slack_bot.replies(1)
    first, second = slack.calls_of("chat.postMessage")
    assert second.at - first.at >= 1


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(error="internal_error")])
async def test_an_answer_is_sent_again_once_after_a_failure_of_slack(
    slack_bot: SlackStage, direct: Channel, fault: Fault
) -> None:
    slack_bot.slack.fail("chat.postMessage", fault)
    await slack_bot.alice.says(direct, HEADLINE)
    await slack_bot.replies(1)
    assert len(slack_bot.slack.calls_of("chat.postMessage")) == 2


@pytest.mark.parametrize(
    ("fault", "arrives"),
    [(Fault(drop_before=True), 0), (Fault(drop_after=True), 1)],
    ids=["dropped before", "dropped after"],
)
async def test_a_message_that_may_have_arrived_is_not_sent_again(
    slack_bot: SlackStage,
    direct: Channel,
    fault: Fault,
    arrives: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    slack_bot.slack.fail("chat.postMessage", fault)
    await slack_bot.alice.says(direct, HEADLINE)
    await slack_bot.slack.until(lambda: slack_bot.slack.calls_of("chat.postMessage"))
    await ask_again(slack_bot, direct, arrives + 1)
    assert len(slack_bot.slack.calls_of("chat.postMessage")) == 2
    assert "was not delivered" in caplog.text
    assert HEADLINE not in caplog.text


async def test_a_command_answer_that_may_have_arrived_is_not_sent_again(
    slack_bot: SlackStage,
) -> None:
    slack_bot.slack.fail("response_url", Fault(drop_after=True))
    await slack_bot.alice.commands(slack_bot.general, "/prophecy", HEADLINE)
    await slack_bot.replies(1)
    slack_bot.slack.fail("response_url", Fault(status=500))
    await slack_bot.alice.commands(slack_bot.general, "/prophecy", HEADLINE)
    await slack_bot.alice.commands(slack_bot.general, "/presagio", "top")
    await slack_bot.replies(2)


async def test_slow_signs_of_life_and_profiles_do_not_hold_up_the_answer(
    slack_bot: SlackStage, direct: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.adapter._SIGN_SECONDS", 0.2)
    monkeypatch.setattr("bot.slack.client._PATIENCE_SECONDS", 0.2)
    slack_bot.slack.fail("reactions.add", Fault(hang=True))
    slack_bot.slack.fail("users.info", Fault(hang=True))
    await slack_bot.alice.says(direct, HEADLINE)
    await slack_bot.replies(1)


async def test_a_channel_that_was_archived_becomes_inactive(slack_bot: SlackStage) -> None:
    slack_bot.slack.fail("chat.postMessage", Fault(error="is_archived"))
    await slack_bot.alice.mentions_bot(slack_bot.general, HEADLINE)
    await slack_bot.slack.until(lambda: slack_bot.slack.calls_of("chat.postMessage"))
    direct = slack_bot.slack.im(slack_bot.alice)
    await ask_again(slack_bot, direct, 1)
    rows = await slack_bot.rows("SELECT external_id, active FROM chat ORDER BY id")
    assert rows == [(slack_bot.general.id, False), (direct.id, True)]


async def test_logs_hold_neither_texts_nor_tokens(
    slack_bot: SlackStage, direct: Channel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(2):
        slack_bot.slack.fail("chat.postMessage", Fault(error="fatal_error"))
    await slack_bot.alice.says(direct, HEADLINE)
    await slack_bot.slack.until(lambda: len(slack_bot.slack.calls_of("chat.postMessage")) == 2)
    await ask_again(slack_bot, direct, 1)
    for secret in (HEADLINE, slack_bot.slack.bot_token, slack_bot.slack.app_token, "ticket="):
        assert secret not in caplog.text

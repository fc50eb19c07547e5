"""What a stopped bot owes."""

import asyncio

from tests.ages import read_years
from tests.fakes.model import scoring, slow
from tests.fakes.slack import Message
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE, judged_by_words


async def test_a_stopping_bot_finishes_its_answer_and_accepts_no_new_message(
    slack_stage: SlackStage,
) -> None:
    slack, direct = slack_stage.slack, slack_stage.slack.im(slack_stage.alice)
    said_when_deaf: list[Message] = []
    slack_stage.model.script = [slow(0.5, scoring(judged_by_words))]
    async with slack_stage.serving():
        await slack_stage.alice.says(direct, HEADLINE)
        await slack_stage.model.until_asked(1)
        deaf = asyncio.create_task(slack.until(lambda: not slack.connections))
        deaf.add_done_callback(lambda _: said_when_deaf.extend(slack.bot_messages))
    await deaf
    assert said_when_deaf == []
    (answer,) = slack.bot_messages
    assert len(read_years(answer.visible)) == 3


async def test_a_message_sent_while_stopped_is_answered_after_the_restart(
    slack_stage: SlackStage,
) -> None:
    slack, direct = slack_stage.slack, slack_stage.slack.im(slack_stage.alice)
    await slack_stage.alice.says(direct, HEADLINE)
    async with slack_stage.serving():
        assert await slack.redeliver(slack.envelopes[0]) == ""
        await slack.until(lambda: slack.bot_messages)
    assert len(slack.bot_messages) == 1

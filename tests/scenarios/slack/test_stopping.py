"""What a stopped bot owes."""

import asyncio

import pytest

from tests.ages import read_years
from tests.fakes.model import scoring, slow
from tests.fakes.slack import Message
from tests.patience import PATIENCE
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


@pytest.mark.slow
async def test_the_questions_of_many_channels_are_answered_once(slack_stage: SlackStage) -> None:
    slack = slack_stage.slack
    slack_stage.model.script = [slow(0.3, scoring(judged_by_words))]
    channels = [slack.channel(f"c{n}", [slack_stage.alice, slack_stage.bob]) for n in range(10)]
    async with slack_stage.serving():
        asked = {
            channel.id: [
                (await person.mentions_bot(channel, f"Coffee prices rise {number}")).ts
                for number, person in enumerate((slack_stage.alice, slack_stage.bob))
            ]
            for channel in channels
        }
        async with asyncio.timeout(PATIENCE):
            await slack.until(lambda: len(slack.bot_messages) >= 20)
        await slack.quiet()
    for channel in channels:
        said = {message.thread_ts for message in channel.messages if message.author is slack.bot}
        assert said == {*asked[channel.id]}, "two at once, so in any order"
    assert len(slack.bot_messages) == 20
    assert max(ack.latency for envelope in slack.envelopes for ack in envelope.acks) < 3

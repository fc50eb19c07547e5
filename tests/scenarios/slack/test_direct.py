"""One person and the bot in a direct message."""

from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE


async def test_a_pasted_headline_is_answered_with_three_tweets(slack_bot: SlackStage) -> None:
    alice, slack = slack_bot.alice, slack_bot.slack
    direct = slack.im(alice)
    asked = await alice.says(direct, HEADLINE)
    (answer,) = await slack_bot.replies(1)
    assert answer.channel is direct
    assert answer.thread_ts is None
    assert HEADLINE in answer.visible
    assert HEADLINE in answer.text
    assert answer.visible.count("years before") == 3
    assert "Coffee prices will hit a record high, mark my words." in answer.visible
    labels = [button["text"]["text"] for button in answer.buttons.values()]
    assert labels[:2] == ["1. 👍 0", "1. 👎 0"]
    assert labels[-3:] == ["More", "Why?", "Picture"]
    await slack.until(lambda: asked.reactions == {"crystal_ball": [slack.bot.id]})
    assert slack_bot.model.calls == 1

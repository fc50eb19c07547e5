"""One person and the bot in a direct message."""

from datetime import UTC, datetime

from tests.ages import read_years
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE


async def test_a_pasted_headline_is_answered_with_three_tweets(slack_bot: SlackStage) -> None:
    alice, slack = slack_bot.alice, slack_bot.slack
    direct = slack.im(alice)
    asked = await alice.says(direct, HEADLINE)
    (answer,) = await slack_bot.replies(1)
    assert answer.channel is direct
    assert answer.thread_ts is None
    assert HEADLINE not in answer.visible, "it stands right above"
    assert "Coffee prices will hit a record high, mark my words." in answer.text, "a notification"
    assert len(read_years(answer.visible)) == 3
    assert "Coffee prices will hit a record high, mark my words." in answer.visible
    labels = [button["text"]["text"] for button in answer.buttons.values()]
    assert labels == ["👍", "👎", "2 … 3: 👍 👎", "More", "Why?", "Share"]
    await slack.until(lambda: asked.reactions == {"crystal_ball": [slack.bot.id]})
    assert slack_bot.model.calls == 1


async def test_a_shared_message_is_answered_as_of_the_day_it_was_written(
    slack_bot: SlackStage,
) -> None:
    alice, slack = slack_bot.alice, slack_bot.slack
    new_year = datetime(2012, 1, 1, tzinfo=UTC).timestamp()
    await alice.shares_message(slack.im(alice), HEADLINE, ts=f"{new_year:.6f}")
    (answer,) = await slack_bot.replies(1)
    assert "The headline is of January 1, 2012." in answer.visible
    assert 1 in read_years(answer.visible)
    assert answer.visible.count("2012") == 1, "no tweet is younger than the news"

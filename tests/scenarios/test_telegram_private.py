"""One person and the bot in a private chat."""

from tests.scenarios.stage import HEADLINE, Stage


async def test_a_pasted_headline_is_answered_with_three_tweets(bot: Stage) -> None:
    alice = bot.telegram.user("Alice")
    chat = bot.telegram.private_chat(alice)
    asked = await alice.says(chat, HEADLINE)
    answer = await asked.answer()
    assert HEADLINE in answer.text
    assert answer.text.count("before ·") == 3
    assert "Coffee prices will hit a record high, mark my words." in answer.text
    assert "October 28, 2010 @ana" in answer.text
    labels = [button.text for button in answer.buttons]
    assert labels[:2] == ["1. 👍 0", "1. 👎 0"]
    assert labels[-3:] == ["More", "Why?", "Picture"]
    assert chat.actions == ["typing"]
    assert bot.model.calls == 1
    await bot.telegram.until_acknowledged()
    assert len(chat.bot_messages) == 1

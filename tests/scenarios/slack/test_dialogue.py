"""A channel talks about what the bot said: it answers who asks, and is silent to who talks."""

from collections.abc import Sequence

from tests.fakes.slack import Message
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE
from tests.scenarios.test_dialogue import AMONG_PEOPLE


def _texts(messages: Sequence[Message]) -> list[str]:
    return [message.visible for message in messages]


async def test_a_channel_of_slack_talks_in_the_thread_of_an_answer(slack_bot: SlackStage) -> None:
    alice, bob, general = slack_bot.alice, slack_bot.bob, slack_bot.general
    asked = await alice.mentions_bot(general, HEADLINE)
    await slack_bot.replies(1)
    for who, text in zip([alice, bob] * 5, AMONG_PEOPLE, strict=True):
        await who.says(general, text, thread=asked)
    for text in ("Number 1 belongs on my fridge", "Dan se lo va a tatuar"):
        await bob.mentions_bot(general, text, thread=asked)
    await slack_bot.replies(1)
    await alice.mentions_bot(general, "source?", thread=asked)
    (*_, source) = _texts(await slack_bot.replies(2))
    await bob.mentions_bot(general, "¿cuándo lo dijo?", thread=asked)
    (*_, when) = _texts(await slack_bot.replies(3))
    await alice.mentions_bot(general, "and in 2012?", thread=asked)
    (*_, followed) = _texts(await slack_bot.replies(4))
    assert "ana · October 28, 2010" in source
    assert "ana · 28 de octubre de 2010" in when
    assert "coffee" in followed.lower()
    await bob.mentions_bot(general, "cambia el idioma a inglés", thread=asked)
    (*_, instructed) = _texts(await slack_bot.replies(5))
    assert instructed == "Esto lo hace: /presagio settings language en"


async def test_a_question_below_somebodys_message_on_slack_is_about_that(
    slack_bot: SlackStage,
) -> None:
    said = await slack_bot.bob.says(slack_bot.general, HEADLINE)
    await slack_bot.alice.mentions_bot(slack_bot.general, "anything?", thread=said)
    (answer,) = _texts(await slack_bot.replies(1))
    assert "mark my words" in answer

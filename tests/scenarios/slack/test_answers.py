"""Exactly one answer, at the right place, to everything that asks for one."""

from functools import partial

import pytest

from tests.ages import read_years
from tests.fakes.model import slow
from tests.fakes.slack import Fault, Message
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import HEADLINE


def is_answer(message: Message) -> bool:
    return len(read_years(message.visible)) == 3


def is_below_its_headline(answer: Message, asked: Message) -> bool:
    """Three tweets in the thread of the headline, which they do not repeat."""
    return is_answer(answer) and answer.thread_ts == asked.ts and HEADLINE not in answer.visible


async def test_a_mention_is_answered_once_in_its_thread(slack_bot: SlackStage) -> None:
    asked = await slack_bot.alice.mentions_bot(slack_bot.general, HEADLINE)
    (answer,) = await slack_bot.replies(1)
    assert is_below_its_headline(answer, asked)
    events = {envelope.event_type for envelope in slack_bot.slack.envelopes}
    assert events == {"app_mention", "message"}


async def test_laughter_is_left_alone_and_thanks_get_a_smiley(slack_bot: SlackStage) -> None:
    slack, general = slack_bot.slack, slack_bot.general
    asked = await slack_bot.alice.mentions_bot(general, HEADLINE)
    (answer,) = await slack_bot.replies(1)
    for text in ("jajaja qué genio", "that's wrong", "😂😂"):
        laughter = await slack_bot.bob.mentions_bot(general, text, thread=asked)
        await slack.quiet()
        assert laughter.reactions == {}, "no sign of life either"
    await slack_bot.bob.says(general, "lol", thread=answer)
    thanks = await slack_bot.bob.mentions_bot(general, "gracias!", thread=asked)
    await slack.until(lambda: thanks.reactions == {"thumbsup": [slack.bot.id]})
    await slack_bot.replies(1)


@pytest.fixture
def slowly(slack_bot: SlackStage, monkeypatch: pytest.MonkeyPatch) -> SlackStage:
    """The same with a model that takes its time."""
    monkeypatch.setattr("bot.conversation.conversation._SOON_SECONDS", 0.0)
    slack_bot.model.script = [slow(0.5, slack_bot.model.script[-1])]
    return slack_bot


@pytest.mark.parametrize("place", ["channel", "direct", "by shortcut"])
async def test_a_slow_command_shows_soon_that_it_is_answered(
    slowly: SlackStage, place: str
) -> None:
    alice, slack, general = slowly.alice, slowly.slack, slowly.general
    if place == "by shortcut":
        await alice.uses_shortcut(await alice.says(general, HEADLINE), "find_prophecy")
    else:
        channel = slack.im(alice) if place == "direct" else general
        await alice.commands(channel, "/prophecy", HEADLINE)
    (message,) = await slowly.replies(1)
    await slack.until(lambda: is_answer(message))
    assert message.earlier_texts[0] in ("One moment …", "Searching …")
    await slowly.replies(1)


async def test_only_the_asker_sees_progress_of_a_command_outside_the_channel(
    slowly: SlackStage,
) -> None:
    elsewhere = slowly.slack.channel("elsewhere", [slowly.alice], with_bot=False)
    await slowly.alice.commands(elsewhere, "/prophecy", HEADLINE)
    (sign,) = await slowly.replies(1)
    assert sign.ephemeral_to is slowly.alice
    await slowly.slack.until(lambda: elsewhere.messages)
    assert [is_answer(message) for message in elsewhere.messages] == [True]
    await slowly.replies(2)


async def test_an_edit_shows_progress_on_the_edited_message(slack_bot: SlackStage) -> None:
    slack, alice = slack_bot.slack, slack_bot.alice
    direct = slack.im(alice)
    asked = await alice.says(direct, "Zebras xylophone quietly")
    await slack_bot.replies(1)
    await alice.edits(asked, HEADLINE)
    await slack.until(lambda: is_answer(slack_bot.slack.bot_messages[0]))
    signs = [call.arguments["timestamp"] for call in slack.calls_of("reactions.add")]
    assert set(signs) == {asked.ts}


async def test_redelivery_to_two_processes_gives_one_answer(slack_stage: SlackStage) -> None:
    slack = slack_stage.slack
    async with slack_stage.serving(processes=2):
        await slack_stage.alice.mentions_bot(slack_stage.general, HEADLINE)
        for envelope in [*slack.envelopes] * 3:
            assert await slack.redeliver(envelope) == ""
        await slack_stage.replies(1)
        # Whatever came of the others is known once a later question of this chat is answered.
        await slack_stage.alice.mentions_bot(slack_stage.general, "Coffee prices rise")
        await slack_stage.replies(2)
    assert {len(envelope.acks) for envelope in slack.envelopes[:2]} == {4}
    assert len(slack.calls_of("chat.postMessage")) == 2


async def test_a_shared_file_with_words_is_answered(slack_bot: SlackStage) -> None:
    direct = slack_bot.slack.im(slack_bot.alice)
    await slack_bot.alice.shares_file(direct, "page.png", HEADLINE)
    (answer,) = await slack_bot.replies(1)
    assert is_answer(answer)


async def test_a_slash_command_answers_all_and_an_error_only_its_author(
    slack_bot: SlackStage,
) -> None:
    slack, general = slack_bot.slack, slack_bot.general
    command = await slack_bot.alice.commands(general, "/prophecy", HEADLINE)
    answer = await slack_bot.reply(general)
    assert is_answer(answer)
    assert HEADLINE in answer.visible, "nobody else has read the command"
    assert answer.ephemeral_to is None
    assert answer.thread_ts is None
    assert command.acks[0].payload is None
    assert slack.calls_of("chat.postMessage") == []
    await slack_bot.alice.commands(general, "/presagio", "nonsense")
    error = await general.until(lambda message: "/nonsense" in message.visible)
    assert error.ephemeral_to is slack_bot.alice
    await slack_bot.replies(2)


async def test_words_after_the_name_of_the_app_are_said_to_the_bot(slack_bot: SlackStage) -> None:
    alice, general = slack_bot.alice, slack_bot.general
    await alice.commands(general, "/presagio", HEADLINE)
    (answer,) = await slack_bot.replies(1)
    assert is_answer(answer)
    assert HEADLINE in answer.visible, "nobody else has read the command"
    for text, told in (
        ("how do I get this every morning?", "This does it: /presagio subscribe daily 9:00"),
        ("anything about the moon?", "The harvest moon is high."),
        ("sbuscribe daily 9", "Did you mean /presagio subscribe?"),
    ):
        await alice.commands(general, "/presagio", text)
        await slack_bot.slack.until(partial(_is_told, slack_bot, told))
    await slack_bot.replies(4)


def _is_told(stage: SlackStage, text: str) -> bool:
    return any(text in message.visible for message in stage.slack.bot_messages)


async def test_a_slash_command_works_where_the_bot_is_no_member(slack_bot: SlackStage) -> None:
    elsewhere = slack_bot.slack.channel("elsewhere", [slack_bot.alice], with_bot=False)
    await slack_bot.alice.commands(elsewhere, "/prophecy", HEADLINE)
    answer = await slack_bot.reply(elsewhere)
    await slack_bot.alice.clicks(answer, "More")
    await slack_bot.replies(2)
    assert await slack_bot.rows("SELECT active FROM chat") == [(True,)]


async def test_the_why_command_in_a_channel_uses_the_answer_of_a_thread(
    slack_bot: SlackStage,
) -> None:
    await slack_bot.alice.mentions_bot(slack_bot.general, HEADLINE)
    await slack_bot.replies(1)
    await slack_bot.alice.commands(slack_bot.general, "/presagio", "why")
    why = await slack_bot.general.until(lambda message: "The model read it" in message.visible)
    assert "Words in common: " in why.visible
    await slack_bot.alice.commands(slack_bot.general, "/presagio")
    usage = await slack_bot.general.until(lambda message: "Search: /prophecy" in message.visible)
    assert usage.ephemeral_to is slack_bot.alice
    await slack_bot.replies(3)


async def test_the_shortcut_answers_in_the_thread_of_the_message(slack_bot: SlackStage) -> None:
    said = await slack_bot.bob.says(slack_bot.general, HEADLINE)
    await slack_bot.alice.uses_shortcut(said, "find_prophecy")
    (answer,) = await slack_bot.replies(1)
    assert is_below_its_headline(answer, said)


async def test_a_bare_mention_gets_a_hint_if_the_thread_cannot_be_read(
    slack_bot: SlackStage,
) -> None:
    slack, alice, general = slack_bot.slack, slack_bot.alice, slack_bot.general
    slack.fail("conversations.replies", Fault(error="missing_scope"))
    headline = await alice.says(general, HEADLINE)
    await alice.mentions_bot(general, "", thread=headline)
    (hint,) = await slack_bot.replies(1)
    assert hint.visible.startswith("Send me a headline")


async def test_an_answer_has_a_notification_and_its_headline_a_sign_of_life(
    slack_bot: SlackStage,
) -> None:
    slack = slack_bot.slack
    asked = await slack_bot.alice.says(slack.im(slack_bot.alice), HEADLINE)
    (answer,) = await slack_bot.replies(1)
    assert answer.thread_ts is None
    assert "Coffee prices will hit a record high, mark my words." in answer.text, "a notification"
    await slack.until(lambda: asked.reactions == {"crystal_ball": [slack.bot.id]})

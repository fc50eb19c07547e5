"""What people press."""

import pytest

from tests.fakes.slack import Message
from tests.scenarios.slack.stage import SlackStage, opens_share
from tests.scenarios.stage import HEADLINE

OTHERS = "2 … 3: 👍 👎"


async def answered(bot: SlackStage) -> Message:
    await bot.alice.mentions_bot(bot.general, HEADLINE)
    (answer,) = await bot.replies(1)
    return answer


async def test_votes_on_further_hits_are_shown_only_to_the_voter(slack_bot: SlackStage) -> None:
    answer = await answered(slack_bot)
    slack, bob, own = slack_bot.slack, slack_bot.bob, answer.labels
    await bob.clicks(answer, OTHERS)
    _, ballot = await slack_bot.replies(2)
    assert ballot.ephemeral_to is bob
    assert ballot.labels == ["2 👍", "2 👎", "3 👍", "3 👎"]
    await bob.clicks(ballot, "3 👎")
    await slack.until(lambda: "3 👎 1" in ballot.labels)
    assert ballot.visible.startswith("Tus votos sobre los demás:\n2. ")
    assert answer.labels == own
    assert await slack_bot.rows("SELECT rank, value FROM vote") == [(3, -1)]
    await slack_bot.replies(2)


@pytest.mark.parametrize(
    ("button", "said", "alone"), [("More", "4. ", False), ("Why?", "El modelo lo leyó como ", True)]
)
async def test_more_comes_into_the_thread_and_why_only_to_who_asks(
    slack_bot: SlackStage, button: str, said: str, alone: bool
) -> None:
    answer = await answered(slack_bot)
    await slack_bot.bob.clicks(answer, button)
    _, shown = await slack_bot.replies(2)
    assert shown.thread_ts == answer.thread_ts
    assert shown.ephemeral_to is (slack_bot.bob if alone else None)
    assert said in shown.visible


async def test_the_picture_comes_into_the_thread(slack_bot: SlackStage) -> None:
    answer = await answered(slack_bot)
    await opens_share(slack_bot, answer)
    await slack_bot.alice.clicks(answer, "Picture")
    _, picture = await slack_bot.replies(2)
    assert picture.thread_ts == answer.thread_ts
    (file,) = slack_bot.slack.files.uploads.values()
    shown = [block["slack_file"]["id"] for block in picture.blocks if block["type"] == "image"]
    assert shown == [file.id]
    assert file.content is not None
    assert file.content.startswith(b"\x89PNG")


async def test_a_button_of_somebody_else_is_acknowledged_and_left_alone(
    slack_bot: SlackStage,
) -> None:
    answer = await answered(slack_bot)
    answer.blocks[-1]["elements"][0]["action_id"] = "foreign"
    pressed = await slack_bot.alice.clicks(answer, "foreign")
    await opens_share(slack_bot, answer)
    (picture,) = [
        button for button in answer.buttons.values() if button["text"]["text"] == "Picture"
    ]
    picture["value"] = "picture:999999:0"
    await slack_bot.alice.clicks(answer, "Picture")
    _, notice = await slack_bot.replies(2)
    assert notice.ephemeral_to is slack_bot.alice
    assert pressed.acked
    assert slack_bot.slack.files.uploads == {}

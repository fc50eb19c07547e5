"""The bot among several people."""

import pytest

from tests.fakes.telegram import Chat, User
from tests.scenarios.stage import HEADLINE, Stage, asks_for_full_answers


@pytest.fixture
def alice(bot: Stage) -> User:
    return bot.telegram.user("Alice", username="alice_in")


@pytest.fixture
def bob(bot: Stage) -> User:
    return bot.telegram.user("Bob")


@pytest.fixture
def group(bot: Stage, alice: User, bob: User) -> Chat:
    """Alice owns it; the bot sees everything that is said."""
    return bot.telegram.group("Friends", admins=[alice], members=[bob], privacy_mode=False)


async def test_three_channels_of_one_person_have_one_quota(stage: Stage) -> None:
    stage.environment["PRESAGIO_CHAT__USER_DAILY"] = "2"
    async with stage.serving():
        telegram = stage.telegram
        alice = telegram.user("Alice")
        group = telegram.group("Friends", admins=[alice], privacy_mode=False)
        answers = [
            await (
                await alice.says(group, f"/prophecy {HEADLINE}", channel=telegram.channel(name))
            ).answer()
            for name in ("News", "More news", "Still more")
        ]
        assert [answer.text.startswith(HEADLINE) for answer in answers] == [True, True, False]
        assert answers[2].text.startswith("That was enough for today: ")
        own = await (await alice.says(group, f"/prophecy {HEADLINE}")).answer()
        assert own.text.startswith(HEADLINE)
    assert await stage.rows("SELECT DISTINCT source FROM model_call") == [("chats",)]


@pytest.mark.parametrize(
    "text",
    [
        f"@presagio_bot {HEADLINE}",
        f"{HEADLINE} @Presagio_Bot",
        f"/prophecy {HEADLINE}",
        f"/prophecy@presagio_bot {HEADLINE}",
        f"/p@Presagio_bot\n{HEADLINE}",
    ],
)
async def test_a_message_to_the_bot_is_answered_in_reply(
    bot: Stage, group: Chat, bob: User, text: str
) -> None:
    asked = await bob.says(group, text)
    answer = await asked.answer()
    assert "Coffee prices will hit a record high, mark my words." in answer.text
    assert answer.text.startswith(HEADLINE) == text.startswith("/"), "else it stands right above"
    assert answer.reply_to is asked


async def test_a_reply_to_the_bot_and_a_name_below_a_headline_are_answered(
    bot: Stage, group: Chat, alice: User, bob: User
) -> None:
    await asks_for_full_answers(alice, group)
    said = await alice.says(group, HEADLINE)
    first = await (await bob.says(group, "@presagio_bot", reply_to=said)).answer()
    assert first.text.startswith(HEADLINE)
    following = "Coffee harvest fails in the third country"
    second = await (await bob.says(group, following, reply_to=first)).answer()
    assert second.text.startswith(following)


async def test_laughter_at_an_answer_is_left_alone_and_thanks_get_a_smiley(
    bot: Stage, group: Chat, alice: User, bob: User
) -> None:
    answer = await (await alice.says(group, f"/p {HEADLINE}")).answer()
    for text in ("😂😂😂", "wow", "that's wrong", "jajaja qué genio", "@presagio_bot lol"):
        await bob.says(group, text, reply_to=answer)
    thanks = await bob.says(group, "thanks!", reply_to=answer)
    await bot.telegram.until_acknowledged()
    assert group.bot_messages == [answer]
    assert list(thanks.reactions.values()) == [("👍",)]
    assert group.actions == ["typing"], "nobody sees the bot type for laughter"


async def test_a_listening_bot_answers_only_above_the_threshold(
    bot: Stage, group: Chat, alice: User, bob: User
) -> None:
    await (await alice.says(group, "/settings listening all")).answer()
    await bob.says(group, "shall we meet at nine?")
    await bob.says(group, "Parliament Votes To Close Harvest Museum For Winter Repairs")
    good = await bob.says(group, HEADLINE)
    assert "mark my words" in (await good.answer()).text
    await bot.telegram.until_acknowledged()
    assert len(group.bot_messages) == 2
    assert group.actions == ["typing"], "nobody sees the bot type for what it overheard"


async def test_an_answer_stays_in_its_topic(bot: Stage, alice: User) -> None:
    forum = bot.telegram.group("Forum", admins=[alice], forum=True, privacy_mode=False)
    news = forum.topic("News")
    answer = await (await alice.says(forum, f"/p {HEADLINE}", thread=news)).answer()
    assert answer.thread_id == news.id
    general = await (await alice.says(forum, f"/p {HEADLINE}")).answer()
    assert general.thread_id is None


async def test_an_answer_to_a_deleted_topic_is_sent_without_it(bot: Stage, alice: User) -> None:
    forum = bot.telegram.group("Forum", admins=[alice], forum=True, privacy_mode=False)
    news = forum.topic("News")
    bot.telegram.fail("sendMessage", error=400, description="Bad Request: message thread not found")
    asked = await alice.says(forum, f"/p {HEADLINE}", thread=news)
    await asked.answer()
    tries = bot.telegram.called("sendMessage")
    assert [one.parameters.get("message_thread_id") for one in tries] == [news.id, None]


@pytest.mark.parametrize("announced", [True, False])
async def test_a_group_that_moves_keeps_its_settings(
    bot: Stage, alice: User, announced: bool
) -> None:
    old = bot.telegram.group("Basic", admins=[alice], basic=True, privacy_mode=False)
    await (await alice.says(old, "/settings language es")).answer()
    if not announced:
        # It moves while the answer is made.
        asked = await alice.says(old, f"/p {HEADLINE}")
        new = old.migrate(announced=False)
        answer = await new.until(lambda one: one.from_bot)
        assert asked.answers == []
    else:
        new = old.migrate(announced=True)
        await bot.telegram.until_acknowledged()
        answer = await (await alice.says(new, f"/p {HEADLINE}")).answer()
    assert "28 de octubre de 2010" in answer.text
    await bot.telegram.until_acknowledged()
    rows = await bot.rows("SELECT external_id, language FROM chat")
    assert rows == [(str(new.id), "es")]
    assert len(new.bot_messages) == 1

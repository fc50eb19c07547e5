"""A bot with an owner: it greets where the owner brings it, and answers nobody else."""

import pytest

from tests.ages import read_years
from tests.scenarios.slack.stage import SlackStage, own_workspace
from tests.scenarios.stage import HEADLINE, Stage, own


@pytest.fixture
def owned(stage: Stage) -> Stage:
    stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
    return stage


async def test_telegram_group_is_admitted_and_greeted_when_the_owner_adds_the_bot(
    owned: Stage,
) -> None:
    telegram = owned.telegram
    alice, bob = telegram.user("Alice"), telegram.user("Bob", language="es")
    group = telegram.group("Friends", admins=[alice, bob])
    group.remove_bot(by=bob)
    async with owned.serving():
        home = await own(owned, alice)
        assert home.bot_messages[0].text.startswith("You own this bot now.")
        for typed in (HEADLINE[:-1], HEADLINE):
            offered = await (await bob.asks_inline(typed)).answered()
            assert offered.results == []
            assert offered.button
            assert offered.button["text"].startswith("Escríbeme antes en privado")
        group.add_bot(by=bob)
        await telegram.until_acknowledged()
        (refused,) = group.bot_messages
        assert refused.text == "Mi dueño decide quién puede usarme; ya le he preguntado."
        assert home.bot_messages[-1].text.startswith("Bob asks to use this bot in Friends (")
        group.remove_bot(by=bob)
        group.add_bot(by=alice)
        await telegram.until_acknowledged()
        greeting = group.bot_messages[-1]
        assert greeting.text.startswith("There is always a tweet. I look in the old tweets of")
        assert greeting.labels == ["Set me up"]
        answer = await (await bob.says(group, f"/prophecy {HEADLINE}")).answer()
        assert answer.text.startswith(HEADLINE)
        cost = (await (await alice.says(home, "/usage")).answer()).text
        assert f"Bob (telegram:{bob.id}): 1 search" in cost, "named, though never let in by himself"
        assert "Friends (telegram:" in cost


async def test_an_admission_is_announced_in_the_topic_that_asked(owned: Stage) -> None:
    alice, bob = owned.telegram.user("Alice"), owned.telegram.user("Bob")
    forum = owned.telegram.group("Forum", admins=[bob], forum=True)
    topic = forum.topic("News")
    async with owned.serving():
        home = await own(owned, alice)
        waits = await (await bob.says(forum, "/help", thread=topic)).answer()
        question = await home.until(lambda message: "asks to use this bot" in message.text)
        await alice.presses(question, "Allow")
        notice = await forum.until(lambda message: "has let you in" in message.text)
    assert waits.thread_id == notice.thread_id == topic.id


async def test_the_owners_channel_is_let_in_and_hears_nothing_of_rights(owned: Stage) -> None:
    telegram = owned.telegram
    alice = telegram.user("Alice")
    bob, bobs = telegram.alone("Bob", language="es")
    added = telegram.channel("Avisos", admins=[alice])
    added.remove_bot(by=alice)
    named = telegram.channel("News", username="our_news", admins=[alice, bob])
    foreign = telegram.channel("Ajeno", admins=[bob])
    async with owned.serving():
        await foreign.posts(f"/prophecy {HEADLINE}")  # the bot has no owner yet
        home = await own(owned, alice)
        await foreign.posts("/subscribe diario 9:00")
        question = await home.until(lambda message: "asks to use this bot" in message.text)
        assert question.text == f"Ajeno (telegram:{foreign.id}) asks to use this bot."
        added.add_bot(by=alice, status="administrator")
        await (await alice.says(home, "/settings @our_news language es")).answer()
        for channel in (added, named):
            await channel.posts("/access")
            await channel.posts("/glossary add café = java")
            await channel.posts(f"/prophecy {HEADLINE}")
            answer = await channel.until(lambda message: message.from_bot)
            assert read_years(answer.text, "es" if channel is named else "en")
        await telegram.until_acknowledged()
        assert [len(channel.bot_messages) for channel in (added, named, foreign)] == [1, 1, 0]
        await (await alice.presses(question, "Allow")).answered()
        await foreign.posts("/subscribe daily 9:00")
        said = await foreign.until(lambda message: message.from_bot)
        assert said.text.startswith("Every day at 9:00")
        waits = await (await bob.says(bobs, HEADLINE)).answer()
        assert waits.text == "Mi dueño decide quién puede usarme; ya le he preguntado."
        await telegram.until_acknowledged()
    assert len(foreign.bot_messages) == 1


async def test_the_slack_owner_admits_a_direct_message_and_a_channel_is_greeted(
    owned_workspace: SlackStage,
) -> None:
    stage = owned_workspace
    slack, alice, bob = stage.slack, stage.alice, stage.bob
    home, direct = slack.im(alice), slack.im(bob)
    async with stage.serving():
        await alice.says(home, HEADLINE)  # the app knows the chat from then on
        (nobody,) = await stage.replies(1)
        assert nobody.visible.startswith("This bot has no owner yet")
        await own_workspace(stage)
        await bob.says(direct, HEADLINE)
        said = {reply.channel: reply for reply in (await stage.replies(4))[2:]}
        assert "ya le he preguntado" in said[direct].visible
        assert "asks to use this bot" in said[home].visible
        await alice.clicks(said[home], "Allow")
        await slack.until(lambda: "may use me now" in said[home].visible)
        answer = (await stage.replies(6))[-1]  # what he had asked, after the news that he may
        assert answer.channel is direct
        assert len(read_years(answer.visible, "es")) == 3
        elsewhere = slack.channel("elsewhere", [alice, bob], with_bot=False)
        await alice.invites_bot(elsewhere)
        greeting = (await stage.replies(8))[-1]  # after the line that it has joined
        assert greeting.channel is elsewhere
        assert "the old tweets of an archive called demo" in greeting.visible

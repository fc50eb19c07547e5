"""Channels of Slack: their names, those without the app, and commands as Slack has them."""

from tests.fakes.slack import SlackServer
from tests.scenarios.slack.stage import SlackStage, slack_staged
from tests.scenarios.stage import HEADLINE
from tests.scenarios.test_owner import code


async def test_nothing_is_subscribed_where_the_app_is_no_member(slack_bot: SlackStage) -> None:
    slack, alice, bob = slack_bot.slack, slack_bot.alice, slack_bot.bob
    alice.is_admin = bob.is_admin = True
    elsewhere = slack.channel("elsewhere", [alice, bob], with_bot=False)
    await bob.commands(elsewhere, "/presagio", "subscribe diario 9:00")
    said = await elsewhere.until(lambda message: "/invite" in message.visible)
    assert said.visible.startswith("Aquí puedo responder, pero no publicar nada")
    assert await slack_bot.rows("SELECT mode FROM subscription") == []
    await alice.invites_bot(elsewhere)
    await alice.commands(elsewhere, "/presagio", "subscribe daily noon")
    said = await elsewhere.until(lambda message: "Every day at 12:00" in message.visible)
    assert "/presagio settings timezone" in said.visible or "/" not in said.visible
    assert await slack_bot.rows("SELECT mode FROM subscription") == [("daily",)]


async def test_the_owner_reads_names_of_channels_and_commands_of_slack(coffee_url: str) -> None:
    async with slack_staged(coffee_url, SlackServer()) as stage:
        stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
        slack, alice, bob = stage.slack, stage.alice, stage.bob
        home, direct = slack.im(alice), slack.im(bob)
        async with stage.serving():
            await alice.commands(home, "/presagio", f"start {await code(stage, 'slack')}")
            await home.until(lambda message: "You own this bot now." in message.visible)
            await bob.mentions_bot(stage.general, HEADLINE)
            question = await home.until(lambda message: "in #general" in message.visible)
            assert question.visible.startswith("Bob asks to use this bot in #general")
            await bob.says(direct, HEADLINE)
            waits = await home.until(lambda message: "2 wait for your answer" in message.visible)
            assert "2 wait for your answer: /presagio access" in waits.visible
            await alice.commands(home, "/presagio", "access allow #general")
            done = await home.until(lambda message: "may use me now" in message.visible)
            assert done.visible.startswith("#general (")
            assert "/presagio access changes that." in done.visible

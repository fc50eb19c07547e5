"""The app's Home tab: what it is, a set-up, and no need of a message."""

from bot.commands import standard_commands
from bot.slack.client import build_manifest
from tests.fakes.slack import App, Fault, SlackServer
from tests.scenarios.slack.stage import SlackStage, slack_staged


async def shown(stage: SlackStage, said: str) -> str:
    """What Alice's Home tab shows, once it says that."""
    await stage.slack.until(lambda: said in stage.alice.home().visible)
    return stage.alice.home().visible


async def test_the_home_tab_tells_what_the_app_is_and_sets_it_up(slack_bot: SlackStage) -> None:
    slack, alice = slack_bot.slack, slack_bot.alice
    await alice.opens_home("messages")
    await slack.quiet()
    assert not slack.views.homes
    await alice.opens_home()
    text = await shown(slack_bot, "There is always a tweet.")
    assert "Paste a headline or a link." in text
    await alice.clicks_at_home("Set me up")
    await shown(slack_bot, "Which language shall I speak here?")
    await alice.clicks_at_home("Español")
    text = await shown(slack_bot, "¿Qué noticias leo?")
    assert "/presagio feeds add" in text
    await alice.clicks_at_home("Dejarlo como está")
    await shown(slack_bot, "¿Qué hora es donde estás?")  # her profile says UTC
    await alice.clicks_at_home("Dejarlo como está")
    await shown(slack_bot, "¿A qué hora")
    await alice.clicks_at_home("9:00")
    await shown(slack_bot, "Siempre hay un tuit.")
    assert slack.bot_messages == []
    await alice.commands(slack.im(alice), "/presagio", "settings")
    (answer,) = await slack_bot.replies(1)
    assert "9:00" in answer.visible or "es" in answer.visible


async def test_a_notice_is_shown_above_the_home_tab(slack_bot: SlackStage) -> None:
    alice = slack_bot.alice
    await alice.opens_home()
    await shown(slack_bot, "There is always a tweet.")
    home = slack_bot.slack.views.homes[alice.id]
    (button,) = [one for one in home["blocks"] if one["type"] == "actions"]
    button["elements"][0]["value"] = "setup::of an older version"
    await alice.clicks_at_home("Set me up")
    text = await shown(slack_bot, "This button is too old.")
    assert "There is always a tweet." in text
    await alice.clicks_at_home("Set me up")
    await slack_bot.slack.quiet()
    await slack_bot.slack.until(lambda: len(slack_bot.slack.calls_of("views.publish")) == 3)
    assert alice.home().visible.count("This button is too old.") == 1


async def test_opening_the_home_tab_does_not_request_admission(coffee_url: str) -> None:
    app = App.from_manifest(build_manifest(standard_commands().commands))
    async with slack_staged(coffee_url, SlackServer(app)) as stage:
        stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
        async with stage.serving():
            await stage.alice.opens_home()
            await shown(stage, "This bot has no owner yet")
            assert stage.slack.bot_messages == []


async def test_a_home_that_cannot_be_shown_hurts_nobody(slack_bot: SlackStage) -> None:
    slack, alice = slack_bot.slack, slack_bot.alice
    slack.fail("views.publish", Fault(error="not_enabled"))
    await alice.opens_home()
    await slack.quiet()
    await alice.opens_home()
    await shown(slack_bot, "There is always a tweet.")

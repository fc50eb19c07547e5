"""Who may do what in a workspace."""

from bot.slack.client import SCOPES
from tests.fakes.model import failure
from tests.scenarios.slack.stage import SlackStage, opens_share, own_workspace
from tests.scenarios.stage import HEADLINE

REFUSED = "Only admins of this workspace may use /presagio settings. Ask one of them."


async def test_an_admin_of_another_workspace_has_no_admin_rights(slack_bot: SlackStage) -> None:
    guest = slack_bot.slack.user("eve", admin=True, owner=True)
    guest.team = "TELSEWHERE"
    shared = slack_bot.slack.channel("shared", [slack_bot.alice, guest])
    await guest.commands(shared, "/presagio", "settings threshold foretold")
    (refused,) = await slack_bot.replies(1)
    assert refused.visible == REFUSED
    slack_bot.alice.is_admin = True
    await slack_bot.alice.commands(shared, "/presagio", "settings threshold foretold")
    await slack_bot.replies(2)
    assert await slack_bot.rows("SELECT threshold FROM chat") == [("prediction",)]


async def test_the_bot_uses_exactly_the_scopes_of_the_manifest(slack_bot: SlackStage) -> None:
    slack, alice = slack_bot.slack, slack_bot.alice
    alice.is_admin = True
    secret = slack.channel("secret", [alice], kind="group")
    await alice.mentions_bot(slack_bot.general, HEADLINE)
    (answer,) = await slack_bot.replies(1)
    await opens_share(slack_bot, answer)
    await alice.clicks(answer, "Picture")
    await slack_bot.replies(2)
    await alice.commands(secret, "/presagio", "settings listening all")
    await slack_bot.replies(3)
    await alice.says(secret, HEADLINE)
    await slack_bot.replies(4)
    await alice.says(slack.im(alice), HEADLINE)
    await slack_bot.replies(5)
    assert slack.api.used_scopes == {*SCOPES, "channels:read", "groups:read"}, "names of channels"
    refused = [call.method for call in slack.calls if not (call.answer or {}).get("ok")]
    assert refused == []


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
    assert "/" not in said.visible.replace("/presagio ", "")
    assert await slack_bot.rows("SELECT mode FROM subscription") == [("daily",)]


async def test_the_owner_reads_names_of_channels_and_commands_of_slack(
    owned_workspace: SlackStage,
) -> None:
    alice, bob = owned_workspace.alice, owned_workspace.bob
    async with owned_workspace.serving():
        home = await own_workspace(owned_workspace)
        await bob.mentions_bot(owned_workspace.general, HEADLINE)
        question = await home.until(lambda message: "in #general" in message.visible)
        assert question.visible.startswith("Bob asks to use this bot in #general")
        await bob.says(owned_workspace.slack.im(bob), HEADLINE)
        waits = await home.until(lambda message: "2 wait for your answer" in message.visible)
        assert "2 wait for your answer: /presagio access" in waits.visible
        await alice.commands(home, "/presagio", "access allow #general")
        done = await home.until(lambda message: "may use me now" in message.visible)
        assert done.visible.startswith("#general (")
        assert "/presagio access changes that." in done.visible


async def test_the_owner_is_notified_once_privately_of_a_refused_key(
    owned_workspace: SlackStage,
) -> None:
    alice, general = owned_workspace.alice, owned_workspace.general
    async with owned_workspace.serving():
        home = await own_workspace(owned_workspace)
        owned_workspace.model.script = [failure(401, "no such key")]
        said = "I cannot judge just now; ranked by words."
        await alice.commands(general, "/prophecy", HEADLINE)
        first = await general.until(lambda message: said in message.visible)
        await alice.commands(general, "/prophecy", HEADLINE)
        await general.until(lambda message: said in message.visible and message is not first)
        notice = await home.until(lambda message: "whoever runs me" in message.visible)
        assert "rejects the API key (401): no such key" in notice.visible
        await owned_workspace.slack.quiet()
    private = [message for message in home.messages if "whoever runs me" in message.visible]
    assert private == [notice]
    assert not any("401" in message.visible for message in general.messages)

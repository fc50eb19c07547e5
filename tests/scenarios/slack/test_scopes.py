"""The bot asks for what it uses, and uses what it asks for."""

from bot.slack.client import SCOPES
from tests.scenarios.slack.stage import SlackStage, opens_share
from tests.scenarios.stage import HEADLINE


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

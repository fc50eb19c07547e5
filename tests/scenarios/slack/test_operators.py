"""A key that is refused: the channel reads a plain sentence, the owner what to mend."""

import pytest

from tests.fakes.model import failure
from tests.fakes.slack import SlackServer
from tests.scenarios.slack.stage import slack_staged
from tests.scenarios.stage import HEADLINE
from tests.scenarios.test_owner import code


async def test_the_owner_is_notified_once_privately_of_a_refused_key(
    coffee_url: str,
) -> None:
    async with slack_staged(coffee_url, SlackServer()) as stage:
        stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
        slack, alice, general = stage.slack, stage.alice, stage.general
        home = slack.im(alice)
        async with stage.serving():
            await alice.commands(home, "/presagio", f"start {await code(stage, 'slack')}")
            await home.until(lambda message: "You own this bot now." in message.visible)
            stage.model.script = [failure(401, "no such key")]
            said = "I cannot judge just now; ranked by words."
            await alice.commands(general, "/prophecy", HEADLINE)
            first = await general.until(lambda message: said in message.visible)
            await alice.commands(general, "/prophecy", HEADLINE)
            await general.until(lambda message: said in message.visible and message is not first)
            notice = await home.until(lambda message: "whoever runs me" in message.visible)
            assert "rejects the API key (401): no such key" in notice.visible
            await slack.quiet()
        private = [message for message in home.messages if "whoever runs me" in message.visible]
        assert private == [notice]
        assert not any("401" in message.visible for message in general.messages)


async def test_the_owner_is_notified_of_a_missing_package(
    coffee_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.card.find_spec", lambda _: None)
    async with slack_staged(coffee_url, SlackServer()) as stage:
        stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
        alice, general, home = stage.alice, stage.general, stage.slack.im(stage.alice)
        async with stage.serving():
            await alice.commands(home, "/presagio", f"start {await code(stage, 'slack')}")
            await home.until(lambda message: "You own this bot now." in message.visible)
            await alice.commands(general, "/prophecy", HEADLINE)
            await general.until(lambda message: HEADLINE in message.visible)
            await alice.commands(general, "/presagio", "picture")
            said = "A part of me that this needs is not installed."
            await general.until(lambda message: said in message.visible)
            notice = await home.until(lambda message: "whoever runs me" in message.visible)
            assert "pictures" in notice.visible

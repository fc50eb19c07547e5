"""Links to the page are shown as cards, where the chat may see what they lead to."""

from collections.abc import AsyncIterator
from urllib.parse import urlencode

import pytest

from bot.commands import standard_commands
from bot.slack.client import build_manifest
from tests.fakes.slack import App, Fault, SlackServer
from tests.scenarios.slack.stage import SlackStage, slack_staged
from tests.scenarios.stage import HEADLINE

PAGE = "https://omen.example.org"


@pytest.fixture
async def linked(coffee_url: str) -> AsyncIterator[SlackStage]:
    app = App.from_manifest(build_manifest(standard_commands().commands, page=PAGE))
    async with slack_staged(coffee_url, SlackServer(app)) as stage:
        stage.environment["PRESAGIO_WEB__PUBLIC_URL"] = f"{PAGE}/"
        async with stage.serving():
            yield stage


def link(path: str = "/prophecy", **values: str) -> str:
    return f"{PAGE}{path}?{urlencode(values)}"


async def test_a_link_is_shown_as_one_card_with_its_picture(linked: SlackStage) -> None:
    slack, alice = linked.slack, linked.alice
    asked = {"headline": HEADLINE, "date": "2026-06-01", "corpus": "demo"}
    shared = await alice.says(linked.general, f"Look: {link(**asked)} and {link()}")
    await slack.until(lambda: shared.attachments)
    (card,) = shared.attachments
    assert card["from_url"] == link(**asked)
    kinds = [block["type"] for block in card["blocks"]]
    assert kinds[:2] == ["header", "rich_text"]
    assert kinds.count("image") == 1
    (picture,) = [block for block in card["blocks"] if block["type"] == "image"]
    assert picture["image_url"] == link("/picture.png", **asked, lang="en")
    assert picture["alt_text"]
    await slack.quiet()
    assert slack.bot_messages == []
    assert slack.calls_of("reactions.add") == []


@pytest.mark.parametrize(
    "address",
    [
        link(headline=HEADLINE, date="2026-06-01", corpus="nobody"),
        link(headline=HEADLINE, date="soon", corpus="demo"),
        link(headline="Zyzzyva qwertz", date="2026-06-01", corpus="demo"),
        link("/wall"),
        f"https://elsewhere.example/prophecy?headline={HEADLINE.split()[0]}&corpus=demo",
    ],
)
async def test_a_link_to_hidden_content_is_not_unfurled(linked: SlackStage, address: str) -> None:
    message = await linked.alice.says(linked.general, address)
    await linked.slack.quiet()
    assert message.attachments == []
    assert linked.slack.bot_messages == []


async def test_a_card_refused_by_slack_gives_no_message(linked: SlackStage) -> None:
    linked.slack.fail("chat.unfurl", Fault(error="cannot_unfurl_url"))
    asked = link(headline=HEADLINE, date="2026-06-01", corpus="demo")
    await linked.alice.says(linked.general, asked)
    await linked.slack.until(lambda: linked.slack.calls_of("chat.unfurl"))
    await linked.slack.quiet()
    assert linked.slack.bot_messages == []

"""Several adapters in one process: none takes another down."""

import httpx

from tests.fakes.slack import SlackServer
from tests.scenarios.stage import HEADLINE, Stage


async def test_a_refused_adapter_says_so_and_the_other_one_answers(stage: Stage) -> None:
    async with SlackServer() as slack:
        wrong = {"SLACK_BOT_TOKEN": "xoxb-wrong", "SLACK_APP_TOKEN": "xapp-wrong"}
        stage.environment |= slack.environ | wrong
        async with stage.serving():
            await stage.until_said("slack: ")
            alice = stage.telegram.user("Alice")
            asked = await alice.says(stage.telegram.private_chat(alice), HEADLINE)
            assert "Coffee prices" in (await asked.answer()).text


async def test_serving_without_tokens_opens_the_page_and_reports_what_is_missing(
    stage: Stage,
) -> None:
    stage.environment |= {"TELEGRAM_BOT_TOKEN": "", "PRESAGIO_WEB__PORT": "0"}
    async with stage.running(stage.until_said("The web page is at ")):
        assert any(
            said.startswith("No chat is set up. Set TELEGRAM_BOT_TOKEN") for said in stage.said
        )
        (line,) = (said for said in stage.said if said.startswith("The web page is at "))
        async with httpx.AsyncClient(base_url=line.removeprefix("The web page is at ")) as client:
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            assert (await client.get("/")).status_code == 200

"""What Telegram, the model and the database do wrong, and what people get to see of it."""

import asyncio

import pytest

from bot.adapter import AdapterFailed
from tests.patience import PATIENCE
from tests.scenarios.stage import HEADLINE, Stage, asks_for_full_answers


async def test_a_rate_limit_is_respected_and_the_order_kept(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    setting = await asks_for_full_answers(alice, chat)
    bot.telegram.fail("sendMessage", error=429, retry_after=1)
    headlines = [f"{HEADLINE} in {place}" for place in ("Rome", "Oslo", "Lima")]
    for headline in headlines:
        await alice.says(chat, headline)
    await chat.until(lambda one: one.from_bot and "Lima" in one.text)
    first, *answers = chat.bot_messages
    assert first is setting
    assert [answer.text.splitlines()[0] for answer in answers] == headlines
    _, refused, again, *_ = bot.telegram.called("sendMessage")
    assert again.time - refused.time >= 1


@pytest.mark.parametrize("error", [500, "bad_gateway"])
async def test_an_answer_is_sent_again_once_after_a_failure_of_telegram(
    bot: Stage, error: int | str
) -> None:
    alice, chat = bot.telegram.alone("Alice")
    await asks_for_full_answers(alice, chat)
    bot.telegram.fail("sendMessage", error=error)  # type: ignore[arg-type]  # one of the troubles
    await alice.says(chat, HEADLINE)
    await chat.until(lambda one: one.from_bot and "1." in one.text)
    bot.telegram.fail("sendMessage", error=error, times=2)  # type: ignore[arg-type]  # as above
    await alice.says(chat, f"{HEADLINE} in Rome")
    await alice.says(chat, f"{HEADLINE} in Oslo")
    await chat.until(lambda one: one.from_bot and "Oslo" in one.text)
    assert len(bot.telegram.called("sendMessage")) == 1 + 2 + 2 + 1


@pytest.mark.parametrize("error", ["drop_connection_before", "drop_connection_after_processing"])
async def test_a_message_that_may_have_arrived_is_not_sent_again(
    bot: Stage, error: int | str
) -> None:
    alice, chat = bot.telegram.alone("Alice")
    await asks_for_full_answers(alice, chat)
    bot.telegram.fail("sendMessage", error=error)  # type: ignore[arg-type]  # one of the troubles
    await alice.says(chat, HEADLINE)
    await bot.telegram.until_called("sendMessage", 2)
    await bot.telegram.until_acknowledged()
    assert len(bot.telegram.called("sendMessage")) == 2, "the setting's, and one for the headline"
    await alice.says(chat, f"{HEADLINE} in Oslo")
    await chat.until(lambda one: one.from_bot and "Oslo" in one.text)


@pytest.mark.parametrize("error", [500, 409, "bad_gateway", "drop_connection_before"])
async def test_polling_goes_on_after_trouble(
    bot: Stage, monkeypatch: pytest.MonkeyPatch, error: int | str
) -> None:
    monkeypatch.setattr("bot.telegram.receiving._LONGEST_PAUSE", 0.1)
    bot.telegram.fail("getUpdates", error=error, times=2)  # type: ignore[arg-type]  # as above
    alice, chat = bot.telegram.alone("Alice")
    await (await alice.says(chat, HEADLINE)).answer()
    await (await alice.says(chat, f"{HEADLINE} in Oslo")).answer()


async def test_a_telegram_that_is_away_is_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.telegram.receiving._LONGEST_PAUSE", 0.1)
    alice, chat = stage.telegram.alone("Alice")
    stage.telegram.fail("getMe", error=500)
    async with stage.serving():
        await stage.telegram.stop()
        await asyncio.sleep(0.5)
        await stage.telegram.start()
        await (await alice.says(chat, HEADLINE)).answer()


async def test_a_refused_token_ends_serving_within_seconds(stage: Stage) -> None:
    token = "987654321:AAnother_token_of_35_characters_xyz"
    stage.environment["TELEGRAM_BOT_TOKEN"] = token
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(AdapterFailed, match="Nothing is left to serve"):
            await stage.run()
    assert any("Telegram refuses the token." in said for said in stage.said)
    assert not any(token in said for said in stage.said)

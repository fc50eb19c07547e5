"""Many people at once: `python -m bench.chat` measures the same at full size."""

import asyncio
import time

from tests.fakes.model import scoring, slow
from tests.fakes.telegram import Chat, User
from tests.scenarios.stage import HEADLINE, Stage, judged_by_words

MODEL_SECONDS = 1.0


async def test_all_are_answered_in_order_and_nobody_waits_for_another_chat(bot: Stage) -> None:
    bot.model.script = [slow(MODEL_SECONDS, scoring(judged_by_words))]
    users = [bot.telegram.user(f"P{number}") for number in range(10)]
    people = [(user, bot.telegram.private_chat(user)) for user in users]
    start = time.perf_counter()
    await asyncio.gather(*(converse(user, chat) for user, chat in people))
    # One after the other they would take 20 times the model's time.
    assert time.perf_counter() - start < 10 * MODEL_SECONDS
    await bot.telegram.until_acknowledged()
    assert [len(chat.bot_messages) for _, chat in people] == [2] * 10


async def converse(user: User, chat: Chat) -> None:
    """Say two things at once; the answers come in the same order."""
    headlines = [f"{HEADLINE} {user.first_name} {number}" for number in range(2)]
    for headline in headlines:
        await user.says(chat, headline)
    await chat.until(lambda _: len(chat.bot_messages) == 2, timeout=30)
    assert [one.text.splitlines()[0] for one in chat.bot_messages] == headlines

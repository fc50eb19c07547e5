"""Buttons are not free without limit."""

from dataclasses import replace

import pytest

from bot.reply import Reply
from bot.request import Person, Request, Trigger
from bot.settings.model import ChatSettings
from db.chat.answers import Answers
from db.pool import Database
from engine.chat import Chat
from tests.bot.conversing import GROUP, Bot, bot_on, corpus, event

ENOUGH = "That was enough for today: "
TOO_FAST = "That is too fast for me. Try again in a minute."


def pressed(reply: Reply, name: str, **changes: object) -> Request:
    actions = [button.action for row in reply.buttons for button in row]
    wanted = next(str(action) for action in actions if action.name == name)
    return event(wanted, trigger=Trigger.BUTTON, **changes)


async def toast(bot: Bot, reply: Reply, name: str, **changes: object) -> str | None:
    """Return the word that passes with which a press is answered."""
    answered = await bot.hear(pressed(reply, name, **changes))
    return answered.toast if answered else None


@pytest.mark.parametrize("limits", [ChatSettings(user_daily=3), ChatSettings(chat_daily=3)])
async def test_a_picture_costs_what_a_search_does_however_it_is_asked_for(
    storage: Database, limits: ChatSettings
) -> None:
    async with bot_on(storage, corpora=[corpus("demo")], limits=limits) as bot:
        await bot.say("/settings answers full")
        answer = await bot.say("Coffee prices soar")
        assert (await bot.say("/picture")).picture
        assert (await bot.press(answer, "picture")).picture
        assert (await toast(bot, answer, "picture") or "").startswith(ENOUGH)
        assert (await bot.say("/picture")).picture is None
        # What shows an answer again stays free.
        for name in ("up", "more", "why"):
            assert not (await toast(bot, answer, name) or "").startswith(ENOUGH)


async def test_buttons_are_pressed_at_a_human_pace(storage: Database) -> None:
    limits = ChatSettings(buttons_per_minute=1)
    async with bot_on(storage, corpora=[corpus("demo")], limits=limits) as bot:
        group = await _group(bot)
        await bot.app.chats.change(replace(group, full_answers=True))
        answer = await bot.say("Coffee prices soar", place=GROUP)
        assert await toast(bot, answer, "up", place=GROUP) == "Noted."
        assert await toast(bot, answer, "down", place=GROUP) == TOO_FAST
        assert await bot.hear(pressed(answer, "down", place=GROUP)) is None  # said once a minute
        tally = (await Answers(bot.app.database).favourites(await _group(bot), 5))[0].tally
        assert (tally.up, tally.down) == (1, 0)
        ben = Person(id="ben", language="es")
        assert await toast(bot, answer, "up", place=GROUP, person=ben) == "Anotado."
        assert (await toast(bot, answer, "up", place=GROUP, person=ben) or "").startswith("Eso es")
        assert await bot.say("Tea prices soar", place=GROUP)  # messages have another limit


async def _group(bot: Bot) -> Chat:
    return await bot.app.chats.meet("test", GROUP.chat_id, private=False, title=None)

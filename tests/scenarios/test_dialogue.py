"""A group talks about what the bot said: it answers who asks, and is silent to who talks."""

import pytest

from tests.fakes.telegram import Chat, User
from tests.scenarios.stage import HEADLINE, Stage

# What nobody expects an answer to.
AMONG_PEOPLE = (
    "Number 1 belongs on my fridge",
    "Rita said this at lunch in 2019, I swear",
    "jajaja el segundo es mi tía Norma",
    "Dan se lo va a tatuar",
    "Nos vemos el sábado en lo de Eva",
    "Are you coming to Sam's on Friday?",
    "¿Quién trae las birras?",
    "Ana owes me ten euros",
    "😂😂",
    "Esto va directo a la heladera",
)


@pytest.fixture
def alice(bot: Stage) -> User:
    return bot.telegram.user("Alice")


@pytest.fixture
def dani(bot: Stage) -> User:
    return bot.telegram.user("Dani", language="es")


@pytest.fixture
def group(bot: Stage, alice: User, dani: User) -> Chat:
    return bot.telegram.group("Friends", admins=[alice], members=[dani], privacy_mode=False)


async def test_what_people_say_below_an_answer_is_left_to_them(
    bot: Stage, group: Chat, alice: User, dani: User
) -> None:
    answer = await (await alice.says(group, f"/p {HEADLINE}")).answer()
    for who, text in zip([alice, dani] * 5, AMONG_PEOPLE, strict=True):
        await who.says(group, text, reply_to=answer)
    await bot.telegram.until_acknowledged()
    assert group.bot_messages == [answer]
    assert bot.model.calls == 1


async def test_a_question_about_somebodys_message_is_about_that(
    bot: Stage, group: Chat, alice: User, dani: User
) -> None:
    said = await alice.says(group, HEADLINE)
    for who, text in ((dani, "@presagio_bot anything?"), (alice, "¿y esto, @presagio_bot?")):
        answer = await (await who.says(group, text, reply_to=said)).answer()
        assert "mark my words" in answer.text
    asked = await dani.says(group, "/ask what did he say about this?", reply_to=said)
    assert "coffee" in (await asked.answer()).text.lower()

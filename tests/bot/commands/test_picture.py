"""The picture shows the first tweet of the page it was asked for."""

from datetime import UTC, datetime

import pytest

from bot.face.request import Person
from bot.i18n.words import words_for
from bot.replies.picture import card_of
from engine.chat import Answer
from engine.types import Flag
from tests.bot.conversing import Bot
from tests.bot.prophecies import NOW, make_hit, make_prophecy

PNG = b"\x89PNG\r\n"


def test_the_card_says_what_the_answer_said() -> None:
    hit = make_hit(text="Coffee will be dear", flags=Flag.REPOST)
    prophecy = make_prophecy(hit, date=datetime(2016, 5, 1, tzinfo=UTC))
    answer = Answer(prophecy=prophecy, asked_at=NOW, first=0, last=3)
    card = card_of(answer, words_for("es"))
    assert (card.headline, card.headline_date) == ("Coffee prices soar", "1 de mayo de 2016")
    assert (card.text, card.author, card.handle) == ("Coffee will be dear", "", "@ana")
    assert (card.date_text, card.lead_time_text) == ("1 de marzo de 2014", "2 años antes")
    assert card.marks == ("anunciado", "reenvío")


@pytest.mark.parametrize("author", [None, ""])
def test_a_tweet_of_nobody_bears_the_name_of_its_corpus(author: str | None) -> None:
    answer = Answer(prophecy=make_prophecy(make_hit(author=author)), asked_at=NOW, first=0, last=3)
    card = card_of(answer, words_for("en"))
    assert (card.author, card.handle) == ("demo", "")


def test_what_is_not_known_is_left_out() -> None:
    answer = Answer(prophecy=make_prophecy(make_hit(author=None)), asked_at=NOW, first=0, last=3)
    card = card_of(answer, words_for("en"))
    assert (card.headline_date, card.handle, card.marks) == ("", "", ("foretold",))
    assert card.lead_time_text == "10 years before"


async def test_a_picture_comes_with_its_link(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar")
    for drawn in (await bot.say("/picture"), await bot.press(reply, "picture")):
        assert (drawn.picture or b"").startswith(PNG)
        assert drawn.text == "https://x.com/ana/status/9007199254740993"


@pytest.mark.usefixtures("no_pictures")
async def test_without_the_libraries_it_says_what_to_install(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar")
    names = [button.action.name for row in reply.buttons for button in row if button.action]
    assert "why" in names
    assert "picture" not in names
    refused = await bot.say("/picture")
    fix = "pip install 'presagio[pictures]'"
    assert refused.picture is None
    assert refused.text == (
        f"Pictures cannot be drawn here. Whoever runs me can install them: {fix}"
    )
    spanish = Person(id="ana", language="es")
    assert (await bot.say("/settings picture on", person=spanish)).text == (
        f"Aquí no se pueden dibujar imágenes. Quien me administra puede instalarlas: {fix}"
    )
    assert not (await bot.chat()).picture


async def test_the_button_draws_the_page_it_stands_on(bot: Bot) -> None:
    first = await bot.say("Coffee prices soar")
    one = await bot.press(first, "picture")
    second = await bot.press(first, "more")
    four = await bot.press(second, "picture")
    assert one.picture != four.picture
    assert (await bot.press(first, "picture")).picture == one.picture
    assert (await bot.say("/picture")).picture == four.picture  # what was shown last


async def test_without_a_tweet_there_is_nothing_to_draw(bot: Bot) -> None:
    bot.engine.found = 0
    await bot.say("Coffee prices soar")
    assert (await bot.say("/picture")).text == "Send me a headline first."

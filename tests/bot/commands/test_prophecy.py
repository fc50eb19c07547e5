"""A headline is answered, and answered further; in groups only as the chat wants it."""

from datetime import UTC, datetime

import pytest

from bot.i18n.words import words_for
from bot.replies.picture import card_of, picture_answer
from bot.reply import Action, Reply
from bot.request import Person, Request, Trigger
from engine.chat import Answer, Listening, PostPicture
from engine.errors import FetchRefused
from engine.search import Headline
from engine.values import Flag
from tests.ages import say_years
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, event
from tests.bot.prophecies import NOW, UNJUDGED, make_hit, make_prophecy

HEADLINE = "Senate Passes The Budget After A Long Night"


def ranks(reply: Reply) -> list[int]:
    return [hit.rank for hit in reply.hits]


def actions(reply: Reply) -> list[list[Action]]:
    return [[button.action for button in row] for row in reply.buttons]


@pytest.mark.parametrize(
    "text",
    [
        "Coffee prices soar",
        "  Coffee prices soar\n",
        "/prophecy Coffee prices soar",
        "/p Coffee prices soar",
        "/P   Coffee prices soar ",
        "/prophecy\nCoffee prices soar",
    ],
)
async def test_a_headline_is_prophesied(bot: Bot, text: str) -> None:
    reply = await bot.say(text)
    assert [call[:2] for call in bot.engine.calls] == [("Coffee prices soar", "demo")]
    assert bot.engine.calls[0][3] == NOW
    assert reply.headline is None, "it stands right above"
    assert ranks(reply) == [1, 2, 3]
    assert [hit.small for hit in reply.hits] == [False, True, True]
    assert not reply.ephemeral


async def test_hits_have_vote_buttons_and_the_page_has_the_others(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar")
    named = [[(action.name, action.value) for action in row] for row in actions(reply)]
    assert named == [
        [(name, f"{rank}.en") for rank in (1, 2, 3) for name in ("up", "down")],
        [("more", "3"), ("why", "0"), ("picture", "0")],
    ]
    await bot.set_up(PRIVATE, full_answers=True)
    reply = await bot.say("Coffee prices soar")
    named = [[(action.name, action.value) for action in row] for row in actions(reply)]
    assert named == [
        [("up", "1.en"), ("down", "1.en")],
        [("up", "2.en"), ("down", "2.en")],
        [("up", "3.en"), ("down", "3.en")],
        [("more", "3"), ("why", "0"), ("picture", "0")],
    ]


async def test_nearest_hits_are_shown_on_request(bot: Bot) -> None:
    bot.engine.found, bot.engine.near = 0, 5
    reply = await bot.say("Coffee prices soar")
    assert (reply.text, reply.hits) == ("Nothing foretold this.", ())
    assert [[button.label for button in row] for row in reply.buttons] == [["Nearest"]]
    near = await bot.say("/more")
    assert (near.text, ranks(near)) == ("Nothing foretold this. Nearest:", [1, 2, 3])
    named = [[(action.name, action.value) for action in row] for row in actions(near)]
    assert named == [[("more", "6"), ("why", "3")]]
    assert "distantly related" in await bot.told("/why 1")
    assert "distantly related" in ((await bot.press(near, "why")).text or "")
    assert (await bot.say("/picture")).text == "Nothing foretold this."
    assert ranks(await bot.say("/more")) == [4, 5]
    assert (await bot.say("/more")).text == "That is all I found."
    assert ranks(await bot.press(reply, "more")) == [1, 2, 3]


async def test_nearest_hits_have_their_own_page_after_the_last_hit(bot: Bot) -> None:
    bot.engine.found, bot.engine.near = 4, 2
    await bot.say("Coffee prices soar")
    last = await bot.say("/more")
    assert (last.text, ranks(last)) == (None, [4])
    assert last.buttons[-1][0].label == "Nearest"
    near = await bot.press(last, "more")
    assert (near.text, ranks(near)) == ("Nearest:", [5, 6])


@pytest.mark.parametrize("command", ["/more", "/why", "/why 1", "/picture"])
async def test_commands_about_an_answer_require_one(bot: Bot, command: str) -> None:
    assert (await bot.say(command)).text == "Send me a headline first."


async def test_refused_page_is_explained_privately(bot: Bot) -> None:
    async def refuse(text: str, *, now: datetime) -> Headline:
        raise FetchRefused("No.", fix="Paste the headline instead.")

    async with bot_on(bot.claims._database, read_headline=refuse) as reader:
        reply = await reader.say("http://127.0.0.1")
        assert (reply.text, reply.ephemeral) == ("No. Paste the headline instead.", True)


class TestOverheard:
    def said(self, text: str = HEADLINE) -> Request:
        return event(text, place=GROUP, trigger=Trigger.OVERHEARD)

    async def test_overheard_headline_with_a_good_hit_is_answered(self, bot: Bot) -> None:
        await bot.set_up(listening=Listening.parse("all"))
        reply = await bot.hear(self.said())
        assert reply
        assert ranks(reply) == [1, 2, 3]

    async def test_it_has_to_be_good_enough_for_a_post(self, bot: Bot) -> None:
        bot.engine.parts = {"judgment": 4 / 6, "lexical": 1.0, "age": 1.0}
        await bot.set_up(listening=Listening.parse("all"))
        assert await bot.hear(self.said()) is None
        bot.engine.parts = {"judgment": 5 / 6, "lexical": 1.0, "age": 1.0}
        assert await bot.hear(self.said())

    async def test_unjudged_overheard_hit_must_cover_the_headline(self, bot: Bot) -> None:
        bot.engine.verdict = UNJUDGED
        await bot.set_up(listening=Listening.parse("all"))
        bot.engine.parts = {"judgment": None, "lexical": 0.5, "age": 1.0}
        assert await bot.hear(self.said()) is None  # two words are a coincidence
        bot.engine.matched = ("coffee", "prices", "record", "high")
        bot.engine.parts = {"judgment": None, "lexical": 0.49, "age": 1.0}
        assert await bot.hear(self.said()) is None
        bot.engine.parts = {"judgment": None, "lexical": 0.5, "age": 1.0}
        assert await bot.hear(self.said())

    async def test_small_talk_is_not_even_looked_up(self, bot: Bot) -> None:
        await bot.set_up(listening=Listening.parse("all"))
        assert await bot.hear(self.said("I will be there in ten minutes")) is None
        assert bot.engine.calls == []

    async def test_commands_are_not_overheard(self, bot: Bot) -> None:
        await bot.set_up(listening=Listening.parse("all"))
        for text in (
            "/help",
            "/nonsense",
            "/settings threshold earlier",
            "/p https://news.example",
        ):
            assert await bot.hear(self.said(text)) is None
        assert bot.engine.calls == []


PNG = b"\x89PNG\r\n"


def test_the_card_says_what_the_answer_said() -> None:
    hit = make_hit(text="Coffee will be dear", flags=Flag.REPOST)
    prophecy = make_prophecy(hit, date=datetime(2016, 5, 1, tzinfo=UTC))
    answer = Answer(prophecy=prophecy, asked_at=NOW, first=0, last=3)
    card = card_of(picture_answer(answer), words_for("es"))
    assert (card.headline, card.headline_date) == ("Coffee prices soar", "1 de mayo de 2016")
    assert (card.text, card.author, card.handle) == ("Coffee will be dear", "", "@ana")
    assert (card.date_text, card.lead_time_text) == (
        "1 de marzo de 2014",
        say_years(2, 1, language="es"),
    )
    assert card.marks == ("anunciado", "reenvío")


async def test_a_picture_comes_with_its_link(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar")
    for drawn in (await bot.say("/picture"), await bot.press(reply, "picture")):
        assert (drawn.picture or b"").startswith(PNG)
        (item,) = drawn.items
        assert item.hit.url == "https://x.com/ana/status/9007199254740993"
        assert drawn.picture_name == "2014-03-01-coffee-prices-soar.png"


@pytest.mark.usefixtures("no_pictures")
async def test_missing_picture_libraries_disable_pictures(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar")
    names = [button.action.name for row in reply.buttons for button in row if button.action]
    assert "why" in names
    assert "picture" not in names
    refused = await bot.say("/picture")
    assert refused.picture is None
    assert refused.text == "A part of me that this needs is not installed."
    spanish = Person(id="ana", language="es")
    assert (await bot.say("/settings picture on", person=spanish)).text == (
        "No está instalada una parte de mí que hace falta para esto."
    )
    assert (await bot.chat()).picture is PostPicture.OFF

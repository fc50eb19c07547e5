"""One vote a person and hit, changeable; the counts on the buttons follow."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.why import page_of
from bot.reply import Reply
from bot.request import Person, Trigger
from db.pool import Database
from engine.chat import Answer
from engine.search import Headline
from tests.ages import say_years
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on
from tests.bot.prophecies import NOW, make_hit, make_prophecy


@pytest.fixture
async def bot(bot: Bot) -> Bot:
    """A bot whose answers show the vote buttons of every hit."""
    for place in (PRIVATE, GROUP):
        await bot.set_up(place, full_answers=True)
    return bot


async def vote(bot: Bot, reply: Reply, value: str, person: str = "ana") -> Reply:
    """Press "up 2" or the like on a reply."""
    name, rank = value.split()
    found = [
        str(button.action)
        for row in reply.buttons
        for button in row
        if button.action.name == name and button.action.value.startswith(f"{rank}.")
    ]
    return await bot.say(found[0], trigger=Trigger.BUTTON, person=Person(id=person))


async def test_buttons_stay_in_the_language_of_the_answer_whoever_votes(bot: Bot) -> None:
    ben, maria = Person(id="ben"), Person(id="maria", language="es")
    english = await bot.say("Coffee prices soar", place=GROUP, person=ben)
    spanish = await bot.press(english, "more", place=GROUP, person=maria)
    assert spanish.buttons[-1][0].label == "¿Por qué?"
    for answer, voter in ((english, maria), (spanish, ben)):
        voted = await bot.press(answer, "up", place=GROUP, person=voter)
        assert voted.buttons[-1] == answer.buttons[-1]
        # A second vote presses what the first one left there.
        again = await bot.press(voted, "down", place=GROUP, person=voter)
        assert again.buttons[-1] == answer.buttons[-1]
    noted = await bot.press(english, "up", place=GROUP, person=maria)
    assert noted.toast == "Anotado."


@given(st.integers(1, 10), st.integers(1, 40), st.data())
def test_page_of_a_hit_is_found_by_its_rank(size: int, hits: int, data: st.DataObject) -> None:
    prophecy = make_prophecy(*(make_hit(rank) for rank in range(1, hits + 1)))
    answer = Answer(prophecy=prophecy, asked_at=NOW, first=0, last=size)
    pages, page = [], answer
    while page.page:
        pages.append(page)
        page = page.page_at(page.last)
    rank = data.draw(st.integers(1, hits))
    [shown] = [one for one in pages if rank in [hit.rank for hit in one.page]]
    later = data.draw(st.sampled_from(pages))
    assert page_of(later, rank) == shown
    assert later.page_named(str(shown.first)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "up:1:0.en",
        "up:1:6.en",
        "up:1:-1.en",
        "up:1:x.en",
        "up:1:.en",
        "up:1:",
        "up:1:1",
        "up:1:1.",
        "up:1:1.xx",
        "up:1:1.en.en",
        "up:1:١.en",
        "up:999:1.en",
        "up::1.en",
        "up",
        "nonsense:1:1",
        "more:1:1",
        "more:1:",
        "more:1:99",
        "why:1:x",
        "why:1:",
        "picture:1:2",
        "picture:999:0",
        f"up:{2**63 - 1}:1.en",
        "_shown:1:1",
        "__class__:1:1",
        "",
    ],
)
async def test_unknown_vote_button_is_too_old(bot: Bot, text: str) -> None:
    await bot.say("Coffee prices soar")
    reply = await bot.say(text or "::", trigger=Trigger.BUTTON)
    assert (reply.toast, reply.text) == ("This button is too old.", None)


async def test_hostile_button_text_is_answered_with_a_toast(bot: Bot) -> None:
    await bot.say("Coffee prices soar")
    hostile = ["set::", "set::=", "set::language=xx", "set::corpus=\u202e", "up:1:" + "9" * 50]
    for text in hostile:
        toast = (await bot.say(text, trigger=Trigger.BUTTON)).toast
        assert toast
        assert "Sorry" not in toast


async def test_the_best_voted_are_the_top(bot: Bot) -> None:
    assert (await bot.say("/top")).text == "No prophecy of this chat has a vote yet."
    reply = await bot.say("Coffee prices soar")
    for person in ("ana", "ben"):
        await vote(bot, reply, "up 2", person)
    await vote(bot, reply, "up 1")
    await vote(bot, reply, "down 3")
    top = await bot.say("/top")
    assert top.text == "The best prophecies of this chat:"
    assert [(item.headline, item.hit.rank, item.hit.text) for item in top.items] == [
        ("Coffee prices soar  👍 2 👎 0", 1, "Tweet number 2 about coffee"),
        ("Coffee prices soar  👍 1 👎 0", 2, "Tweet number 1 about coffee"),
    ]
    assert all(item.hit.small for item in top.items)
    assert (await bot.say("/top", place=GROUP)).text == "No prophecy of this chat has a vote yet."


async def test_ages_in_the_top_are_those_that_were_shown(storage: Database) -> None:
    async def dated(text: str, *, now: datetime) -> Headline:
        return Headline(text=text, original=text, date=datetime(2016, 5, 1, tzinfo=UTC))

    async with bot_on(storage, read_headline=dated) as bot:
        await bot.set_up(PRIVATE, full_answers=True)
        reply = await bot.say("Coffee prices soar")
        await vote(bot, reply, "up 1")
        assert (await bot.say("/top")).items[0].hit.age == reply.hits[0].age
        assert reply.hits[0].age == say_years(2, 1)


def values(reply: Reply) -> list[str]:
    return [str(button.action) for row in reply.buttons for button in row]


def row_of_votes(reply: Reply) -> list[str]:
    return [button.label for button in reply.buttons[0]]


class TestShort:
    """A short answer has one row of votes, and three buttons at most below it."""

    @pytest.fixture
    async def bot(self, bot: Bot) -> Bot:
        for place in (PRIVATE, GROUP):
            await bot.set_up(place, full_answers=False)
        return bot

    async def test_a_vote_on_a_later_page_keeps_that_page(self, bot: Bot) -> None:
        await bot.say("Coffee prices soar")
        second = await bot.say("/more")
        voted = await bot.press(second, "up")
        assert row_of_votes(voted) == ["👍 1", "👎", "5 👍", "5 👎"]
        assert voted.buttons[1] == second.buttons[1]
        assert max(map(len, values(second))) <= 64

    async def test_a_button_of_an_earlier_version_shows_the_votes(self, bot: Bot) -> None:
        reply = await bot.say("Coffee prices soar")
        first = reply.buttons[0][0].action
        old = f"votes:{first.answer_id}:{first.value}"
        assert (await bot.say(old, trigger=Trigger.BUTTON)).buttons == reply.buttons

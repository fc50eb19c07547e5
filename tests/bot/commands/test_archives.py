"""Several archives: people are asked which one, and answered from it; a choice can be undone."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.request import Person, Place, Trigger
from db.chat.chats import Forgetting
from db.pool import Database
from db.posting.subscriptions import Subscriptions
from engine.corpora import choose_corpora
from engine.search import Prophecy, SearchRequest
from engine.values import CorpusRole
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, corpus, event, labels, yes
from tests.bot.prophecies import NOW, StandInEngine
from tests.patience import until

HEADLINE = "Coffee prices soar"
ANA, LUIS = corpus("ana"), replace(corpus("luis"), display_name="Luis Pérez")
INLINE = Place(platform="test", chat_id="inline:ana", private=True, kept=False)


class Choosing(StandInEngine):
    """An engine that searches only where it is told which of several archives is meant."""

    def __init__(self) -> None:
        super().__init__()
        self.searched: list[str] = []

    async def __call__(self, request: SearchRequest, *, corpus: str) -> Prophecy:
        choose_corpora([ANA, LUIS], corpus)
        self.searched.append(corpus)
        return await super().__call__(request, corpus=corpus)


@pytest.fixture
def engine() -> Choosing:
    return Choosing()


@pytest.fixture
async def bot(storage: Database, engine: Choosing) -> AsyncIterator[Bot]:
    async with bot_on(storage, corpora=[ANA, LUIS], usual="", prophesy=engine) as ready:
        yield ready


@pytest.mark.parametrize("place", [PRIVATE, GROUP])
async def test_one_question_is_open_at_a_time_and_answers_all_that_waits(
    bot: Bot, engine: Choosing, place: Place
) -> None:
    asked = await bot.say(f"/prophecy {HEADLINE}", place=place)
    for text in ("/prophecy Trains stop in the north", "/prophecy Storm hits the coast"):
        aside = await bot.say(text, place=place)
        assert (aside.text, aside.buttons) == (
            "Choose above whose texts I search; then I answer this too.",
            (),
        )
    elsewhere = await bot.say(f"/prophecy {HEADLINE}", place=replace(place, thread="9"))
    assert labels(elsewhere), "a question in another thread is not above"
    known = len(bot.adapter.replies)
    press = event(
        str(asked.buttons[0][0].action), place=place, trigger=Trigger.BUTTON, person=Person(id="x")
    )
    await bot.conversation.answer(press, bot.adapter)
    await until(lambda: len(bot.adapter.replies) == known + 3)
    assert [reply.headline for reply in bot.adapter.replies[known:]] == [
        HEADLINE,
        "Trains stop in the north",
        "Storm hits the coast",
    ]
    later = await bot.say("/corpus default", place=place, is_admin=yes)
    assert "configured" in (later.text or "")
    again = await bot.say("/prophecy The budget passes", place=place, person=Person(id="y"))
    assert again.text == "Whose texts shall I search?", "what was answered does not wait"


async def test_the_answer_takes_the_place_of_the_question_and_repeats_the_headline(
    bot: Bot,
) -> None:
    for place in (PRIVATE, GROUP):
        answer = await bot.press(await bot.say(HEADLINE, place=place), "archive", place=place)
        assert (answer.replaces, answer.headline) == (True, HEADLINE)


async def test_a_member_s_choice_is_remembered_for_an_hour_for_that_member_alone(
    bot: Bot, engine: Choosing
) -> None:
    asked = await bot.say(HEADLINE, place=GROUP)
    await bot.press(asked, "archive", place=GROUP)
    again = await bot.say("The budget passes", place=GROUP, now=NOW + timedelta(minutes=59))
    assert again.hits
    assert engine.searched == ["ana", "ana"]
    for changes in ({"person": Person(id="bob")}, {"now": NOW + timedelta(minutes=61)}):
        other = await bot.say("The budget passes", place=GROUP, **changes)
        assert other.text == "Whose texts shall I search?"
    await Forgetting(bot.app.database).person("test", "ana", chat="p", now=NOW)
    forgotten = await bot.say("The budget passes", place=replace(GROUP, thread="7"))
    assert forgotten.text == "Whose texts shall I search?"


async def test_the_demonstration_is_listed_only_without_an_archive(bot: Bot) -> None:
    demonstration = replace(corpus("demo"), role=CorpusRole.DEMONSTRATION)
    bot.corpora.append(demonstration)
    assert labels(await bot.say("/corpus")) == ["ana", "Luis Pérez", "All of them"]
    bot.corpora[:] = [demonstration]
    assert labels(await bot.say("/corpus")) == ["demo"]


async def test_a_choice_can_be_undone(bot: Bot) -> None:
    await bot.say("/corpus ana")
    listed = await bot.say("/corpus")
    assert labels(listed) == ["ana", "Luis Pérez", "All of them", "The configured one"]
    assert (await bot.say("/corpus default")).text == "Here I search the configured archive again."
    assert (await bot.chat()).corpus is None
    await bot.say("/corpus all")
    assert (await bot.chat()).corpus == "all"
    assert (await bot.told("/corpus")).endswith("All of them are searched here.")


async def test_subscribing_requires_one_chosen_archive(bot: Bot, storage: Database) -> None:
    asked = await bot.say("/subscribe daily 9:00")
    assert asked.text == "Whose texts shall I search?"
    assert await Subscriptions(bot.app.database).get(await bot.chat()) is None
    assert "Every day at 9:00" in ((await bot.press(asked, "archive")).text or "")
    assert await bot.subscription()
    assert (await bot.say("/corpus all")).text == (
        "Posts come from one archive: /unsubscribe first, or choose one."
    )
    async with bot_on(storage, corpora=()) as empty:
        await empty.say("/unsubscribe")
        said = await empty.told("/subscribe daily 9:00")
        assert "There is no corpus" in said


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        (HEADLINE, "all"),
        (f"luis: {HEADLINE}", "luis"),
        (f"ALL: {HEADLINE}", "all"),
        ("Budget: the senate votes", "all"),
    ],
)
async def test_inline_takes_the_default_or_the_name_before_the_headline(
    bot: Bot, engine: Choosing, text: str, searched: str
) -> None:
    answer = await bot.say(text, place=INLINE)
    assert engine.searched == [searched]
    assert not (answer.headline or "").startswith(("luis:", "ALL:"))


async def test_settings_show_the_chosen_corpus(bot: Bot) -> None:
    for choice, said in (
        ("luis", "luis (Luis Pérez)"),
        ("all", "all of them"),
        ("default", "asked for each time; /corpus NAME chooses one"),
    ):
        await bot.say(f"/corpus {choice}")
        assert (await bot.told("/settings")).splitlines()[-1] == f"corpus: {said}"

"""A headline is answered, and answered further; in groups only as the chat wants it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.i18n.words import words_for
from bot.replies.picture import card_of, picture_answer
from bot.replies.prophecy import EXAMPLE
from bot.reply import Action, Reply
from bot.request import Person, Request, Trigger
from engine.chat import Answer, Listening, PostPicture
from engine.errors import CorpusNotFound, FetchRefused
from engine.search import Headline, HitKind
from engine.values import Flag
from tests.ages import say_years
from tests.bot.conversing import ANA, GROUP, PRIVATE, Bot, bot_on, event
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


@pytest.mark.parametrize(
    "text", ["/r/politics bans bots", "/", "/ 50", "/2024/06/01", "50/50 vote"]
)
async def test_text_with_a_slash_that_is_no_command_is_searched(bot: Bot, text: str) -> None:
    await bot.say(text)
    assert [call[0] for call in bot.engine.calls] == [text]


@pytest.mark.parametrize("text", ["/p", "/prophecy  "])
async def test_prophecy_without_a_headline_shows_an_example(bot: Bot, text: str) -> None:
    assert (await bot.say(text)).text == f"Send me a headline, such as: {EXAMPLE}"
    assert bot.engine.calls == []


async def test_headline_is_searched_in_the_corpus_of_the_chat(bot: Bot) -> None:
    await bot.say("/corpus larga")
    await bot.say("Coffee")
    assert bot.engine.calls[0][1] == "larga"


async def test_more_shows_the_next_ones_without_another_search(bot: Bot) -> None:
    await bot.say("Coffee prices soar")
    assert ranks(await bot.say("/more")) == [4, 5]
    assert (await bot.say("/more")).text == "That is all I found."
    assert (await bot.say("/more")).text == "That is all I found."
    assert len(bot.engine.calls) == 1


async def test_more_counts_ages_up_to_the_moment_of_the_question(bot: Bot) -> None:
    first = await bot.say("Coffee prices soar")
    later = await bot.say("/more", now=NOW + timedelta(days=800))
    assert later.hits[0].age == first.hits[0].age == say_years(10, 3)


async def test_the_button_for_more_shows_the_same_page_to_whoever_presses_it(bot: Bot) -> None:
    first = await bot.say("Coffee prices soar")
    second = await bot.press(first, "more")
    assert ranks(second) == [4, 5]
    assert ranks(await bot.press(first, "more", person=Person(id="ben"))) == [4, 5]
    assert "more" not in [action.name for row in actions(second) for action in row]


async def test_buttons_of_an_old_answer_are_about_that_answer(bot: Bot) -> None:
    old = await bot.say("Coffee prices soar")
    await bot.say("Tea prices soar")
    assert (await bot.press(old, "more")).headline == "Coffee prices soar"
    # What was shown last is now the old one's second page.
    assert (await bot.say("/why 4")).text is not None


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


async def test_finding_nothing_has_no_buttons(bot: Bot) -> None:
    bot.engine.found = 0
    reply = await bot.say("Coffee prices soar")
    assert reply.buttons == ()
    assert reply.text == "No results, nothing spooky: no old tweet foretold this."
    assert (await bot.say("/more")).text == "That is all I found."


async def test_nearest_hits_are_shown_on_request(bot: Bot) -> None:
    bot.engine.found, bot.engine.near = 0, 5
    reply = await bot.say("Coffee prices soar")
    assert (reply.text, reply.hits) == ("Nothing foretold this.", ())
    assert [[button.label for button in row] for row in reply.buttons] == [["Nearest"]]
    near = await bot.say("/more")
    assert (near.text, ranks(near)) == ("Nothing foretold this. Nearest:", [1, 2, 3])
    named = [[(action.name, action.value) for action in row] for row in actions(near)]
    assert named == [[("more", "6"), ("why", "3")]]
    assert "distantly related" in ((await bot.say("/why 1")).text or "")
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


async def test_overheard_headline_is_not_answered_with_nearest_hits(bot: Bot) -> None:
    bot.engine.found, bot.engine.near = 0, 5
    await bot.set_up(listening=Listening.parse("all"), threshold=HitKind.EARLIER_CASE)
    assert await bot.hear(event(HEADLINE, place=GROUP, trigger=Trigger.OVERHEARD)) is None


@pytest.mark.parametrize("command", ["/more", "/why", "/why 1", "/picture"])
async def test_commands_about_an_answer_require_one(bot: Bot, command: str) -> None:
    assert (await bot.say(command)).text == "Send me a headline first."


async def test_chats_do_not_see_each_other(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar")
    assert (await bot.say("/more", place=GROUP)).text == "Send me a headline first."
    pressed = await bot.press(reply, "more", place=GROUP)
    assert pressed.toast == "This button is too old."
    assert ranks(await bot.say("/more")) == [4, 5]


async def test_a_failed_question_leaves_the_last_answer(bot: Bot) -> None:
    await bot.say("Coffee prices soar")
    bot.engine.errors["Tea"] = CorpusNotFound("There is no corpus 'x'.", fix="Load one.")
    assert (await bot.say("Tea prices soar")).text == "There is no corpus 'x'. See /corpus."
    assert ranks(await bot.say("/more")) == [4, 5]


async def test_a_page_gives_headline_and_date(bot: Bot) -> None:
    async def fetched(text: str, *, now: datetime) -> Headline:
        return Headline(
            text="Coffee prices soar", original=text, date=datetime(2016, 5, 1, tzinfo=UTC)
        )

    async with bot_on(bot.claims._database, read_headline=fetched) as reader:
        reply = await reader.say("https://news.example/a")
        assert (reply.headline, reply.hits[0].age) == ("Coffee prices soar", say_years(2, 1))


async def test_headline_date_is_the_date_of_the_message(bot: Bot) -> None:
    written = datetime(2018, 12, 3, 9, tzinfo=UTC)
    reply = await bot.say("Coffee prices soar", written_at=written)
    assert bot.engine.dates == [written]
    assert reply.hits[0].age == say_years(4, 9)
    assert reply.notice == "The headline is of December 3, 2018."
    assert "December 3, 2018" in ((await bot.say("/more")).notice or "")


async def test_message_date_in_the_future_is_read_as_now(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar", written_at=NOW + timedelta(hours=1000))
    assert bot.engine.dates == [NOW]
    assert reply.notice is None


async def test_headline_of_today_is_searched_without_a_date(bot: Bot) -> None:
    reply = await bot.say("Coffee prices soar", written_at=NOW - timedelta(hours=1))
    assert bot.engine.dates == [None], "so that its judgment is kept"
    assert reply.notice is None


async def test_page_date_overrides_the_message_date(bot: Bot) -> None:
    date = datetime(2016, 5, 1, tzinfo=UTC)

    async def fetched(text: str, *, now: datetime) -> Headline:
        return Headline(text="Coffee prices soar", original=text, date=date)

    async with bot_on(bot.claims._database, read_headline=fetched) as reader:
        await reader.say("https://news.example/a", written_at=NOW - timedelta(days=9))
        assert reader.engine.dates == [date]


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

    async def test_nothing_is_searched_if_the_chat_allows_only_mentions(self, bot: Bot) -> None:
        assert await bot.hear(self.said()) is None  # a new group: mentions only
        assert bot.engine.calls == []


async def test_threads_have_their_own_last_answer(bot: Bot) -> None:
    one, two = (replace(GROUP, thread=number) for number in ("1", "2"))
    await bot.say("Coffee prices soar", place=one)
    await bot.say("Tea prices soar", place=two, person=ANA)
    assert (await bot.say("/more", place=one)).headline == "Coffee prices soar"
    assert (await bot.say("/more", place=GROUP)).headline == "Tea prices soar"


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


@pytest.mark.parametrize("author", [None, ""])
def test_card_of_a_tweet_without_author_shows_the_corpus_name(author: str | None) -> None:
    answer = Answer(prophecy=make_prophecy(make_hit(author=author)), asked_at=NOW, first=0, last=3)
    card = card_of(picture_answer(answer), words_for("en"))
    assert (card.author, card.handle) == ("demo", "")


def test_card_omits_unknown_fields() -> None:
    answer = Answer(prophecy=make_prophecy(make_hit(author=None)), asked_at=NOW, first=0, last=3)
    card = card_of(picture_answer(answer), words_for("en"))
    assert (card.headline_source, card.handle, card.marks) == ("", "", ("foretold",))
    assert card.headline_date == "June 1, 2024"  # the day it was asked, which the age refers to
    assert card.lead_time_text == say_years(10, 3)


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


async def test_the_button_draws_the_page_it_stands_on(bot: Bot) -> None:
    first = await bot.say("Coffee prices soar")
    one = await bot.press(first, "picture")
    second = await bot.press(first, "more")
    four = await bot.press(second, "picture")
    assert one.picture != four.picture
    assert (await bot.press(first, "picture")).picture == one.picture
    assert (await bot.say("/picture")).picture == four.picture  # what was shown last


async def test_picture_without_a_hit_is_refused(bot: Bot) -> None:
    bot.engine.found = 0
    await bot.say("Coffee prices soar")
    assert (await bot.say("/picture")).text == "Nothing foretold this."

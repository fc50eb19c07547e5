"""The receipt tells who judged, what it cost and what the score is made of."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.app import App
from bot.i18n.words import Words, words_for
from bot.replies.picture import PictureSubject
from bot.replies.receipt import find_receipt, render_receipt
from bot.reply import Reply
from bot.request import Person, Place, RepliedMessage, Revision
from db.chat.answers import Answers
from engine.contracts.results import Receipt
from engine.query.results import Match
from engine.search import Expansion, Hit, Mode, Verdict
from engine.values import Usage
from tests.ages import say_years
from tests.bot.conversing import GROUP, PRIVATE, Bot, event
from tests.bot.finds import make_find_hit, make_found
from tests.bot.prophecies import JUDGED, NOW, make_hit, make_prophecy, make_term

ENGLISH = words_for("en")


def lines(*hits: Hit, verdict: Verdict = JUDGED) -> list[str]:
    return render_receipt(make_prophecy(*hits, verdict=verdict), hits, ENGLISH).splitlines()


def test_receipt_of_a_judged_answer() -> None:
    assert lines(make_hit(2, factors={"repost": 0.5})) == [
        "4 candidates from demo; the best one covers 61% of what the headline's words weigh.",
        "2 were judged by openai/gpt-5-mini with prompt 3.",
        "Tokens: 4,321 in, 56 out; cost: $0.0012.",
        "",
        "2. score 0.83 from judgment 1.00, lexical 0.42, age 0.90",
        "   multiplied by: repost 0.50",
        "   words in common: coffee, prices",
    ]


def test_receipt_of_hybrid_search_shows_model_and_ranks() -> None:
    hit = make_hit()
    hit = replace(hit, candidate=replace(hit.candidate, ranks={"lexical": 2, "semantic": 7}))
    prophecy = replace(make_prophecy(hit), mode=Mode.HYBRID, embedding_model="m-small")
    said = render_receipt(prophecy, [hit], ENGLISH).splitlines()
    assert "Searched by words and by meaning, as m-small sees it." in said
    assert "   place in each list: by words 2, by meaning 7" in said
    spanish = render_receipt(prophecy, [hit], words_for("es"))
    assert "   puesto en cada lista: por palabras 2, por significado 7" in spanish


def test_what_a_phrase_found_names_the_phrase_best_first() -> None:
    hit = make_hit()
    asked = {"gas is too dear": 9, "gas pump prices way up": 1}
    hit = replace(hit, candidate=replace(hit.candidate, ranks={}, asked_for=asked))
    usage = Usage(prompt_tokens=300, completion_tokens=60, cost_usd=0.0001)
    named = Expansion(phrases=tuple(asked), model="m", usage=usage, seconds=0.84)
    prophecy = replace(make_prophecy(hit), mode=Mode.HYBRID, expansion=named)
    said = render_receipt(prophecy, [hit], ENGLISH).splitlines()
    assert "Also searched for 2 phrases that m says the account may have written." in said
    assert "It named them in 0.8 s." in said
    assert "Tokens: 300 in, 60 out; cost: $0.0001." in said
    assert "   asked for: 'gas pump prices way up', 'gas is too dear'" in said
    assert not [line for line in said if "place in each list" in line]
    spanish = render_receipt(prophecy, [hit], words_for("es"))
    assert "   se pidió: 'gas pump prices way up'" in spanish


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (
            Verdict(scores={1: 6}, model="m", cached=True, usage=Usage(prompt_tokens=7)),
            "The judgment was kept from an earlier time and cost nothing.",
        ),
        (Verdict(scores={1: 6}, usage=Usage()), "Tokens: unknown in, unknown out; cost: unknown."),
        (
            Verdict(scores={}, usage=Usage(prompt_tokens=0, completion_tokens=0, cost_usd=0.0)),
            "Tokens: 0 in, 0 out; cost: $0.0000.",
        ),
        (
            Verdict(scores={1: 6}, damage={"repeated_id": 2, "fence": 1}),
            "Faults in the model's answer: fence 1, repeated_id 2.",
        ),
    ],
)
def test_receipt_describes_the_judgment_of_the_model(verdict: Verdict, expected: str) -> None:
    assert expected in lines(make_hit(), verdict=verdict)


def test_how_unknown_words_were_looked_for_is_told() -> None:
    found = make_hit(matched=("coffee",))
    prophecy = make_prophecy(found, terms=(make_term("coffee", neighbour_of="covfefe"),))
    assert (
        'No tweet says "covfefe"; looked for "coffee".'
        in render_receipt(prophecy, [], ENGLISH).splitlines()
    )


def explained(reply: Reply) -> list[int]:
    """The ranks of the hits that a reply explains."""
    return [
        int(rank) for rank in re.findall(rf"^(\d+)\. {say_years(10, 3)}: ", reply.text or "", re.M)
    ]


async def test_why_says_it_in_words(bot: Bot) -> None:
    await bot.say("Coffee prices soar")
    said = await bot.say("/why 1")
    assert (said.text or "").splitlines() == [
        f"1. {say_years(10, 3)}: The model read it as the same event.",
        "   Words in common: coffee, prices.",
    ]
    bot.engine.parts = {"judgment": None, "lexical": 1.0, "age": 1.0}
    await bot.say("Tea prices soar")
    assert "No model read it; it was found by its words." in await bot.told("/why 1")


def draws(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What pictures are drawn of: headlines, and ranks of their hits."""
    drawn = []

    async def draw(_: App, shown: PictureSubject, words: Words) -> Reply:
        drawn.append((shown.headline, shown.hit.rank))
        return Reply(words=words, picture=b"PNG")

    monkeypatch.setattr("bot.commands.why.draw_picture", draw)
    return drawn


def buttons(reply: Reply) -> list[str]:
    return [str(button.action) for row in reply.buttons for button in row]


@pytest.mark.parametrize(
    ("place", "language", "said"),
    [
        (GROUP, "en", "I have told the reasons here today."),
        (GROUP, "es", "Ya conté las razones hoy en este chat."),
        (PRIVATE, "en", None),
        (replace(GROUP, platform="slack"), "en", None),
    ],
    ids=["group", "group in Spanish", "in private", "where nobody else reads it"],
)
async def test_the_why_button_pressed_by_two_tells_a_group_the_reasons_once(
    bot: Bot, place: Place, language: str, said: str | None
) -> None:
    first = await bot.say("Coffee prices soar", place=place)
    people = [Person(id=name, language=language) for name in ("ana", "bob")]
    told, again = [await bot.press(first, "why", place=place, person=one) for one in people]
    assert told.text
    assert (again.toast, again.text) == ((said, None) if said else (None, told.text))


@pytest.mark.parametrize("pressed", [None, "up"])
async def test_a_picture_as_a_reply_is_of_the_answer_that_it_replies_to(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, pressed: str | None
) -> None:
    drawn = draws(monkeypatch)
    coffee = await bot.say("Coffee prices soar")
    second = await bot.press(coffee, "more")
    await bot.say("Tea prices soar")
    under = await bot.press(second, pressed) if pressed else second
    await bot.say("/picture", quoted=RepliedMessage(buttons=buttons(under)))
    await bot.say("/picture 2", quoted=RepliedMessage(buttons=buttons(under)))
    await bot.say("/picture")
    assert drawn == [("Coffee prices soar", 4), ("Coffee prices soar", 2), ("Tea prices soar", 1)]


async def test_a_reply_to_a_picture_is_about_the_tweet_in_it(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws(monkeypatch)
    await bot.say("Coffee prices soar")
    await bot.say("/picture 2")
    await bot.say("Tea prices soar")
    assert explained(await bot.say("/why", quoted=RepliedMessage(message="m2"))) == [2]
    more = await bot.say("/more", quoted=RepliedMessage(message="m2"))
    assert (more.headline, [hit.rank for hit in more.hits]) == ("Coffee prices soar", [4, 5])


@pytest.mark.parametrize("how", ["command", "button"])
async def test_a_reply_to_an_explanation_is_about_the_answer_that_it_explained(
    bot: Bot, how: str
) -> None:
    coffee = await bot.say("Coffee prices soar")
    await bot.say("Tea prices soar")
    if how == "button":
        await bot.press(coffee, "why")
    else:
        await bot.say("/why 2", quoted=RepliedMessage(buttons=buttons(coffee)))
    more = await bot.say("/more", quoted=RepliedMessage(message="m3"))
    assert (more.headline, [hit.rank for hit in more.hits]) == ("Coffee prices soar", [4, 5])


@pytest.mark.parametrize("of_answer", [True, False], ids=["answer", "headline"])
async def test_reply_to_a_message_without_buttons_finds_its_answer(
    bot: Bot, of_answer: bool
) -> None:
    bot.engine.found = 0
    await bot.say("Coffee prices soar", event_id="p:1")
    bot.engine.found = 5
    await bot.say("/find tea", event_id="p:2")
    await bot.say("Tea prices soar", event_id="p:3")
    first, second = ("m1", "m2") if of_answer else ("1", "2")
    assert "4 tweets" in await bot.told("/why", quoted=RepliedMessage(message=first))
    assert "Query: tea" in await bot.told("/why", quoted=RepliedMessage(message=second))
    assert explained(await bot.say("/why", quoted=RepliedMessage(message="something else"))) == [
        1,
        2,
        3,
    ]


async def test_reply_to_an_edited_headline_refers_to_its_last_answer(bot: Bot) -> None:
    await bot.say("Coffee prices soar", event_id="p:1")
    await bot.hear(
        event("Tea prices soar", event_id="p:1:edited", revision=Revision(event_id="p:1"))
    )
    await bot.set_up(PRIVATE, full_answers=True)
    await bot.say("Milk prices soar")
    more = await bot.say("/more", quoted=RepliedMessage(message="m1"))
    assert more.headline == "Tea prices soar"


async def test_thread_below_an_answer_prefers_later_answers_in_it(bot: Bot) -> None:
    coffee = await bot.say("Coffee prices soar", place=GROUP)
    thread = {"place": replace(GROUP, thread="m1"), "quoted": RepliedMessage(message="m1")}
    below = {**thread, "quoted": RepliedMessage(message="m1", buttons=buttons(coffee))}
    await bot.say("Milk prices soar", place=GROUP)
    assert [hit.rank for hit in (await bot.say("/more", **below)).hits] == [4, 5]
    bot.engine.parts = {"judgment": None, "lexical": 1.0, "age": 1.0}
    await bot.say("Tea prices soar", **thread)
    assert "found by its words" in await bot.told("/why 1", **below)


async def test_a_query_is_explained_in_words(bot: Bot) -> None:
    await bot.say("/find coffee -tea before:2015")
    assert (await bot.told("/why")).splitlines() == [
        "Query: coffee -tea before:2015",
        "Best first: rare words count more than frequent ones.",
        "Of 100 texts in demo, 7 hold the words and 7 of those meet the filters; 2 of the best 2"
        " differ, 2 are shown.",
        "1. coffee",
        "2. coffee",
    ]


async def test_a_query_is_explained_in_full(bot: Bot) -> None:
    await bot.say("/settings answers full")
    await bot.say("/find coffee -tea before:2015")
    lines = (await bot.told("/why")).splitlines()
    assert lines == [
        "Query: coffee -tea before:2015",
        "Filters: before:2015",
        "Plan: ranked",
        "Of 100 texts in demo, 7 hold the words and 7 of those meet the filters; 2 of the best 2"
        " differ, 2 are shown.",
        "",
        "1. score 7.95",
        "   coffee ×2 (text): 7.95",
        "",
        "2. score 7.95",
        "   coffee ×2 (text): 7.95",
    ]


async def test_old_receipts_are_forgotten(bot: Bot) -> None:
    await bot.say("/find coffee")
    await Answers(bot.app.database).forget(now=NOW + timedelta(days=89))
    assert await Answers(bot.app.database).last_receipt(await bot.chat(), None)
    await Answers(bot.app.database).forget(now=NOW + timedelta(days=91))
    assert await Answers(bot.app.database).last_receipt(await bot.chat(), None) is None


def test_aliases_fields_and_parts_of_a_profile_are_told() -> None:
    alias = Match(
        term="authentication", alias_of="auth", lexemes=("authent",), count=1,
        fields=("context",), score=0.4,
    )  # fmt: skip
    parts = {"lexical": 0.5, "recency": 0.25, "role": None}
    hit = replace(make_find_hit(score=0.41), matched=(alias,), parts=parts)
    found = replace(make_found("auth", hit), expanded=make_found("auth OR authentication").query)
    receipt = Receipt.of(found)
    lines = find_receipt(receipt, receipt.hits, words_for("en")).splitlines()
    assert lines[1] == "Looked for: auth OR authentication"
    assert lines[-2:] == [
        "1. score 0.41 from lexical 0.50, recency 0.25",
        "   auth → authentication ×1 (context): 0.40",
    ]


def test_a_receipt_holds_no_text_of_any_document() -> None:
    found = make_found("coffee", make_find_hit(text="a secret about coffee"))
    assert "secret" not in Receipt.of(found).model_dump_json()


async def test_one_hit_is_explained_by_its_number(bot: Bot) -> None:
    await bot.say("/find coffee")
    text = await bot.told("/why 2")
    assert "2. coffee" in text
    assert "1. coffee" not in text
    assert (await bot.say("/why 9")).text == "I showed 1, 2. Ask /why or /why NUMBER."

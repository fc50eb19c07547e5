"""/why after /find tells how the query was answered; whatever came last is what it explains."""

from dataclasses import replace
from datetime import timedelta

from bot.i18n.words import words_for
from bot.replies.receipt import find_receipt
from bot.request import Person, Place
from engine.contracts.results import Receipt
from engine.query.results import Match
from tests.bot.conversing import Bot
from tests.bot.finds import make_find_hit, make_found
from tests.bot.prophecies import NOW

LATER = NOW + timedelta(minutes=1)


async def test_a_query_is_explained_in_words(bot: Bot) -> None:
    await bot.say("/find coffee -tea before:2015")
    assert ((await bot.say("/why")).text or "").splitlines() == [
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
    lines = ((await bot.say("/why")).text or "").splitlines()
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


async def test_one_hit_is_explained_by_its_number(bot: Bot) -> None:
    await bot.say("/find coffee")
    text = (await bot.say("/why 2")).text or ""
    assert "2. coffee" in text
    assert "1. coffee" not in text
    assert (await bot.say("/why 9")).text == "I showed 1, 2. Ask /why or /why NUMBER."


async def test_why_explains_the_latest_of_query_and_headline(bot: Bot) -> None:
    await bot.say("/find coffee")
    await bot.say("/prophecy Coffee prices soar", now=LATER)
    assert "the same event" in ((await bot.say("/why")).text or "")
    await bot.say("/find tea", now=LATER + timedelta(minutes=1))
    assert "Query: tea" in ((await bot.say("/why")).text or "")


async def test_receipt_is_not_shown_in_another_chat(bot: Bot) -> None:
    await bot.say("/find coffee")
    elsewhere = Place(platform="test", chat_id="other", private=True)
    assert (await bot.say("/why", place=elsewhere)).text == "Send me a headline first."


async def test_inline_query_keeps_no_receipt(bot: Bot) -> None:
    inline = Place(platform="test", chat_id="p", private=True, kept=False)
    await bot.say("/find coffee", place=inline)
    assert (await bot.say("/why")).text == "Send me a headline first."


async def test_receipt_is_in_the_language_of_the_reader(bot: Bot) -> None:
    spanish = Person(id="ana", language="es")
    await bot.say("/find coffee", person=spanish)
    assert ((await bot.say("/why", person=spanish)).text or "").startswith("Consulta: coffee")


async def test_old_receipts_are_forgotten(bot: Bot) -> None:
    await bot.say("/find coffee")
    await bot.services.stores.answers.forget(now=NOW + timedelta(days=89))
    assert await bot.services.stores.answers.last_receipt(await bot.chat(), None)
    await bot.services.stores.answers.forget(now=NOW + timedelta(days=91))
    assert await bot.services.stores.answers.last_receipt(await bot.chat(), None) is None


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

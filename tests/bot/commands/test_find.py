"""/find answers a query of the dialect from the chat's corpus."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.i18n.words import words_for
from bot.replies.find import brief_find_reply, find_reply
from engine.query.parser import parse_query
from engine.query.query import Phrase
from engine.query.results import Match
from engine.search import ItemPlace
from tests.bot.conversing import GROUP, Bot
from tests.bot.finds import StandInFind, make_find_hit, make_found
from tests.bot.prophecies import NOW


def engine_of(bot: Bot) -> StandInFind:
    find = bot.app.find
    assert isinstance(find, StandInFind)
    return find


async def test_full_answer_shows_counts_scores_and_matched_terms(bot: Bot) -> None:
    await bot.say("/settings answers full")
    lines = (await bot.told("/find  coffee")).splitlines()
    assert lines[:3] == ["7 texts in demo: coffee", "Shown: 2.", ""]
    assert lines[3] == "1. March 1, 2014 · @ana · x · 7.95"
    assert lines[4:7] == [
        "   Text number 1 about coffee",
        "   https://x.com/ana/status/9007199254740993",
        "   coffee ×2",
    ]


def test_a_short_answer_cites_a_part_of_a_document_by_title_and_page() -> None:
    place = ItemPlace(item=1, part=2, page=12, pages=40, title="Harbours")
    hit = make_find_hit(created_at=None, place=place)
    reply = brief_find_reply(make_found("coffee", hit), words_for("en"), longest=280)
    assert [(view.place, view.date_text) for view in reply.hits] == [("Harbours, p. 12", "")]


def test_short_answer_counts_near_identical_texts_left_out() -> None:
    found = make_found("coffee", make_find_hit(), make_find_hit(2), passing=40)
    found = replace(found, counts=replace(found.counts, fetched=25))
    reply = brief_find_reply(found, words_for("en"), longest=280)
    assert (reply.text or "").splitlines() == [
        "40 texts in demo: coffee",
        "Shown: 1 to 2. 23 near-identical ones are left out.",
    ]


async def test_a_button_shows_the_next_texts_of_its_own_query(bot: Bot) -> None:
    engine_of(bot).hits = 7
    first = await bot.say("/find coffee")
    await bot.say("/find tea", now=NOW + timedelta(seconds=1))
    more = await bot.press(first, "found", now=NOW + timedelta(seconds=2))
    assert "coffee" in (more.text or "")
    assert [hit.rank for hit in more.hits][:1] == [len(first.hits) + 1]
    again = await bot.press(first, "found", now=NOW + timedelta(seconds=3))
    assert again.hits == more.hits
    elsewhere = await bot.press(first, "found", place=GROUP)
    assert elsewhere.toast == "This button is too old."


async def test_find_without_a_query_shows_an_example(bot: Bot) -> None:
    reply = await bot.say("/find")
    assert reply.text == (
        'Write what to find, such as: /find "coffee prices" OR tea -free before:2015'
    )
    assert engine_of(bot).calls == []


@pytest.mark.parametrize(("longest", "kept"), [(None, 900), (280, 280)])
def test_long_texts_are_cut_where_asked(longest: int | None, kept: int) -> None:
    found = make_found("coffee", make_find_hit(text="x" * 900))
    text = find_reply(found, words_for("en"), longest=longest).text or ""
    assert len(text.splitlines()[3].strip()) == kept


def test_alias_match_is_shown_once_with_its_expansion_and_field() -> None:
    query = parse_query("fed met")
    phrase = Phrase("Federal Reserve")
    expanded = query.expand_aliases(lambda unit: [(phrase, 0.5)] if unit.text == "fed" else [])

    def match(count: int, *fields: str, alias_of: str | None = "fed") -> Match:
        term = str(phrase) if alias_of else "met"
        return Match(
            term=term, alias_of=alias_of, lexemes=(), count=count, fields=fields, score=1.0
        )

    matched = (match(3, "context"), match(2, "context"), match(1, "text", alias_of=None))
    hit = replace(make_find_hit(), matched=matched)
    found = replace(make_found("fed met", hit), query=query, expanded=expanded)
    lines = (find_reply(found, words_for("en")).text or "").splitlines()
    assert lines[1] == 'Looked for: (fed | "Federal Reserve") met'
    assert lines[-1] == '   fed → "Federal Reserve" ×2 (in what it answers), met ×1'

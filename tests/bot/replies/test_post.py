"""A post shows each story with its tweet, on both platforms within their limits."""

from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.replies.limits import utf16_length
from bot.replies.post import PostItem, post_reply
from bot.slack.render import render_blocks, render_fallback
from bot.telegram.render import LONGEST_TEXT, render_messages
from engine.chat import Answer
from tests.bot.prophecies import NOW, make_hit, make_prophecy
from tests.fakes.slack.block_kit import check_blocks
from tests.fakes.telegram.html import parse

WORDS = words_for("en")
PARTS = {"judgment": None, "lexical": 0.7}


def item(
    number: int = 1, title: str = "Coffee prices soar", *, judged: bool = True, rank: int = 2
) -> PostItem:
    """A story whose second hit is posted, unless `rank` says otherwise."""
    hits = [
        make_hit(one, text=f"tweet {number}.{one}", parts=None if judged else PARTS)
        for one in range(1, 4)
    ]
    prophecy = make_prophecy(*hits, text=title, date=datetime(2016, 3, 1, tzinfo=UTC))
    answer = Answer(prophecy=prophecy, asked_at=NOW, first=rank - 1, last=rank, id=70 + number)
    return PostItem(title=title, link=f"https://news.example/{number}", answer=answer)


def test_each_story_leads_to_its_page_and_shows_its_tweet() -> None:
    reply = post_reply([item(1), item(2, "<Tea> & more")], WORDS, date(2026, 6, 1))
    (html,) = render_messages(reply)
    assert html.splitlines()[:5] == [
        "The news of March 1, 2016. What was foretold:",
        "",
        '<b><a href="https://news.example/1">Coffee prices soar</a></b>',
        "<b>1. 1 year, 11 months before · "
        '<a href="https://x.com/ana/status/9007199254740993">March 1, 2014</a>'
        " · @\u2060ana · foretold</b>",
        "<blockquote>tweet 1.2</blockquote>",
    ]
    assert '<b><a href="https://news.example/2">&lt;Tea&gt; &amp; more</a></b>' in html
    assert "<blockquote>tweet 2.2</blockquote>" in html


def test_a_post_names_the_days_of_its_stories_by_the_clock_of_the_chat() -> None:
    stories = [item(1), item(2)]
    prophecy = stories[1].answer.prophecy
    evening = datetime(2016, 3, 1, 23, 30, tzinfo=UTC)  # in Madrid that is the next day
    later = replace(prophecy, headline=replace(prophecy.headline, date=evening))
    stories[1] = replace(stories[1], answer=replace(stories[1].answer, prophecy=later))
    day, madrid = date(2016, 3, 2), ZoneInfo("Europe/Madrid")
    assert post_reply(stories, WORDS, day).text == "The news of March 1, 2016. What was foretold:"
    assert post_reply(stories, WORDS, day, zone=madrid).text == (
        "The news from March 1, 2016 to March 2, 2016. What was foretold:"
    )
    assert post_reply(stories[1:], WORDS, day, zone=madrid).text == (
        "The news of March 2, 2016. What was foretold:"
    )


def test_a_post_says_once_that_it_was_not_judged() -> None:
    guesses = [item(number, judged=False) for number in (2, 3)]
    said = "Not judged: found by the words in common alone."
    told = [post_reply([item(1), *rest], WORDS).notice for rest in ([], guesses[:1], guesses)]
    assert told == [None, said, said]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=100)


@given(titles=st.lists(TEXTS, min_size=1, max_size=10), times=st.integers(1, 50))
def test_any_post_is_one_message_that_both_platforms_take(titles: list[str], times: int) -> None:
    items = [item(number, title * times) for number, title in enumerate(titles, start=1)]
    reply = post_reply(items, WORDS, date(2026, 6, 1), writes=True)
    (html,) = render_messages(reply)
    assert 0 < utf16_length(parse(html)[0]) <= LONGEST_TEXT
    check_blocks([block.to_dict() for block in render_blocks(reply)])
    assert render_fallback(reply)
    assert all(f"tweet {number}.2" in html for number in range(1, len(titles) + 1))


def test_a_short_post_has_one_row_of_votes() -> None:
    items = [item(1), item(2, rank=3), item(3), item(4)]
    votes, row = post_reply(items, WORDS, compact=True).buttons
    assert [button.label for button in votes] == ["👍", "👎", "2 👍", "2 👎", "3 👍", "3 👎"]
    assert [str(button.action) for button in votes[:4:3]] == ["up:71:2.en", "down:72:3.en"]
    assert [str(button.action) for button in row] == ["why:71:1", "picture:71:1"]


def test_slack_post_has_one_button_for_votes_on_other_stories() -> None:
    items = [item(1), item(2, rank=3), item(3), item(4)]
    votes, _ = post_reply(items, WORDS, platform="slack", compact=True).buttons
    assert [(button.label, str(button.action)) for button in votes] == [
        ("👍", "up:71:2.en"),
        ("👎", "down:71:2.en"),
        ("2 … 4: 👍 👎", "votes:71:2.en"),
    ]
    votes, _ = post_reply(items[:1], WORDS, platform="slack", compact=True).buttons
    assert [button.label for button in votes] == ["👍", "👎"]


def test_write_buttons_are_shown_if_a_model_can_write() -> None:
    (_, row) = post_reply([item(1)], WORDS, writes=True).buttons
    assert [(button.label, str(button.action)) for button in row] == [
        ("Write about it", "write:71:1")
    ]
    *_, row = post_reply([item(1), item(2, rank=3)], WORDS, writes=True).buttons
    assert [(button.label, str(button.action)) for button in row] == [
        ("Write about 1", "write:71:1"),
        ("Write about 2", "write:72:2"),
    ]
    many = post_reply([item(number) for number in range(1, 8)], WORDS, writes=True).buttons
    assert [len(row) for row in many[7:]] == [5, 2]


def test_short_post_has_one_write_button() -> None:
    _, row = post_reply([item(1), item(2, rank=3)], WORDS, compact=True, writes=True).buttons
    assert [str(button.action) for button in row] == ["why:71:1", "picture:71:1", "write:71:1"]

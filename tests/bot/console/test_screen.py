"""Replies on paper and on a terminal."""

import io
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.console.screen import Screen
from bot.i18n.words import words_for
from bot.reply import HitView, Reply
from engine.prophecy.score import Sureness
from tests.bot.command_line import Terminal

WORDS = words_for("en")
ESCAPES = re.compile(r"\x1b(\[[0-9;]*m|\]8;[^\x1b]*\x1b\\)")
URL = "https://twitter.com/ana/status/" + "9" * 80


@pytest.fixture(autouse=True)
def terminal_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def view(text: str = "Coffee will be dear", **changes: object) -> HitView:
    values: dict[str, object] = {
        "rank": 1,
        "text": text,
        "author": "ana",
        "date": datetime(2014, 3, 1, 9, tzinfo=UTC),
        "date_text": "March 1, 2014",
        "age": "9 years before",
        "url": "https://x.com/ana/status/1",
        "sureness": Sureness.PERHAPS,
        "flags": ("repost",),
        "label_unjudged": True,
    }
    return HitView(**{**values, **changes})  # type: ignore[arg-type]  # the table above has the types


def shown(reply: Reply, *, width: int = 60, terminal: bool = False) -> str:
    stream = Terminal() if terminal else io.StringIO()
    Screen(stream, width=width).show(reply)
    return stream.getvalue()


def test_reply_is_laid_out_as_plain_text() -> None:
    reply = Reply(
        words=WORDS,
        headline="Coffee prices soar",
        notice="Not judged: no key.",
        hits=(
            view(),
            view("Two\nlines", rank=2, author=None, url=None, label_unjudged=False, flags=()),
        ),
    )
    assert shown(reply, width=64) == (
        "Coffee prices soar\n"
        "Not judged: no key.\n"
        "\n"
        "1. 9 years before · March 1, 2014 · @ana · perhaps · not judged\n"
        "   · repost\n"
        "   Coffee will be dear\n"
        "   https://x.com/ana/status/1\n"
        "\n"
        "2. 9 years before · March 1, 2014 · perhaps\n"
        "   Two\n"
        "   lines\n"
        "\n"
    )


def test_small_hit_is_marked_as_a_repost() -> None:
    small = view("RT @fan: Coffee!", rank=2, small=True)
    assert shown(Reply(words=WORDS, hits=(small,)), width=90) == (
        "\n2. 9 years before · March 1, 2014 · repost: RT @fan: Coffee!\n\n"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_a_wrapped_hit_stands_beside_its_number(terminal: bool) -> None:
    small = view("word " * 20, rank=12, small=True)
    text = shown(Reply(words=WORDS, hits=(small,)), width=40, terminal=terminal)
    first, *others = ESCAPES.sub("", text).splitlines()[1:-1]
    assert first.startswith("12. 9 years")
    assert len(others) > 2
    assert all(line.startswith("    ") and line[4] != " " for line in others)


def test_the_models_reason_stands_below_the_text() -> None:
    lines = shown(Reply(words=WORDS, hits=(view(why="he \x1b[31msaid so"),))).splitlines()
    assert [line for line in lines if "Why" in line] == [
        "   Why: he \N{REPLACEMENT CHARACTER}[31msaid so"
    ]


def test_wrapped_line_keeps_its_indentation() -> None:
    reply = Reply(words=WORDS, text="1. March 1\n   " + "words " * 10)
    paper = io.StringIO()
    Screen(paper, width=40).show(reply)
    assert paper.getvalue() == (
        "1. March 1\n   words words words words words words\n   words words words words\n\n"
    )


def test_text_keeps_its_lines() -> None:
    assert shown(Reply(words=WORDS, text="one\n\n  two")) == "one\n\n  two\n\n"


def test_the_terminal_gets_the_same_words_with_colours() -> None:
    reply = Reply(words=WORDS, headline="Coffee", text="text", notice="notice", hits=(view(),))
    on_terminal = shown(reply, width=80, terminal=True)
    assert "\x1b[" in on_terminal
    assert ESCAPES.sub("", on_terminal) == shown(reply, width=80)


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    colours = re.compile(r"\x1b\[[0-9;]*3\d")
    assert not colours.search(
        shown(Reply(words=WORDS, headline="Coffee", hits=(view(),)), terminal=True)
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_long_text_is_wrapped_to_the_width_and_indented(terminal: bool) -> None:
    text = shown(
        Reply(words=WORDS, hits=(view("word " * 60, url=None),)), width=40, terminal=terminal
    )
    lines = ESCAPES.sub("", text).splitlines()
    body = [line for line in lines if "word" in line]
    assert len(body) > 5
    assert max(map(len, lines)) <= 40
    assert all(line.startswith("   word") for line in body)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_link_is_never_broken(terminal: bool) -> None:
    text = shown(Reply(words=WORDS, hits=(view(url=URL),)), width=40, terminal=terminal)
    assert f"{URL}\n" in ESCAPES.sub("", text)


@pytest.mark.parametrize("terminal", [True, False])
def test_markup_and_emoji_codes_in_a_tweet_are_only_text(terminal: bool) -> None:
    text = shown(
        Reply(words=WORDS, hits=(view("[bold]loud[/bold] :smile: [/x]"),)), terminal=terminal
    )
    assert "[bold]loud[/bold] :smile: [/x]" in ESCAPES.sub("", text)


@given(st.text(st.characters(codec=None)))
def test_a_tweet_cannot_send_escape_sequences(text: str) -> None:
    hostile = view(text, author=text, url=text)
    reply = Reply(words=WORDS, headline=text, text=text, notice=text, hits=(hostile,))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown(reply))
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f]", ESCAPES.sub("", shown(reply, terminal=True))
    )


def test_a_stream_that_cannot_hold_a_character_gets_a_question_mark() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Screen(stream, width=80).show(Reply(words=WORDS, text="Café ☕"))
    assert raw.getvalue() == b"Caf? ?\n\n"


def test_a_text_without_a_date_shows_none() -> None:
    hits = [
        replace(one, date=None, date_text="", age="", sureness=None, flags=())
        for one in (view(), view("Tea", rank=2, small=True))
    ]
    assert shown(Reply(words=WORDS, hits=tuple(hits)), width=90) == (
        "\n1. @ana · not judged\n   Coffee will be dear\n   https://x.com/ana/status/1\n"
        "\n2. Tea\n\n"
    )

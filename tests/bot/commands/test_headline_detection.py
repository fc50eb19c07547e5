"""Headlines are told from talk by their form."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.headline_detection import is_talk, looks_like_headline
from tests.bot.small_talk import ENGLISH, SPANISH, lines

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def share_taken(texts: Iterable[str]) -> float:
    taken = [looks_like_headline(text) for text in texts]
    return sum(taken) / len(taken)


def test_real_headlines_are_taken(titles: list[str]) -> None:
    assert share_taken(titles) >= 0.95


@pytest.mark.parametrize("decorated", ["🚨 {}", "{} 🇦🇷", "{}!", "{}!!", "{} !!!"])
def test_real_headlines_with_an_emoji_or_an_exclamation_mark_are_taken(
    titles: list[str], decorated: str
) -> None:
    assert share_taken(map(decorated.format, titles)) >= 0.94


@pytest.mark.parametrize("called", ["folks!! {}", "omg: {}", "now this one: {}", "gente! {}"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("Coffee prices hit a record high in Brazil", True), ("I want to go home early today", False)],
)
def test_a_call_before_it_does_not_make_a_headline_talk(
    called: str, text: str, expected: bool
) -> None:
    assert looks_like_headline(called.format(text)) is expected


@pytest.mark.parametrize("decorated", ["{}", "🎉 {}", "{} 😂", "{}!", "{}!!"])
@pytest.mark.parametrize("talk", [ENGLISH, SPANISH], ids=["en", "es"])
def test_small_talk_is_left_alone(talk: str, decorated: str) -> None:
    said = lines(talk)
    assert share_taken(map(decorated.format, said)) <= 0.10
    assert share_taken(decorated.format(text.lower()) for text in said) <= 0.10


def test_the_bundled_headlines_are_taken() -> None:
    with (EXAMPLES / "judged.headlines.jsonl").open() as rows:
        assert share_taken(json.loads(row)["headline"] for row in rows) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Coffee prices hit a record high", True),
        ("Senate passes spending bill after marathon session", True),
        ("  Senate passes spending bill  \n", True),
        ("¿Quién ganará las elecciones en Francia?", True),
        ("Is It Safe To Travel This Summer?", True),
        ("'I will win', says Trump in Ohio", True),
        ("look https://news.example/a", True),
        ("https://news.example/a", True),
        ("www.news.example", True),
        ("I will win the election in Ohio", False),
        ("Are you coming on Friday?", False),
        ("Storm hits coast", False),  # three words
        ("", False),
        ("???", False),
        ("Storm hits the coast\nof Florida today", False),
        ("BREAKING\n\nStorm hits the coast of Florida\n\nWe saw " + "rain " * 200, True),
        ("Storm hits the coast of Florida 😱", True),
        ("🚨🇺🇸 Storm hits the coast of Florida", True),
        ("Storm hits the coast of Florida!", True),
        ("Se inunda la costa por la tormenta y piden ayuda a la provincia!!", True),
        ("Se inunda la costa por la tormenta y piden ayuda a la provincia?!", False),
        ("storm hits the coast of Florida", True),
        ("storm hits my coast of Florida", False),
        ("Storm hits my coast, Florida! 😱", False),
        ("Fed raises interest rates again, mortgage costs climb the same week 🇺🇸", True),
        ("Pope Leo denies rumours that he will resign", True),
        ("Ship has landed!! Baby Leo, both fine", False),
        ("JUST IN 🔴 Storm hits the coast of Florida", True),
        ("Storm hits the coast of Florida :)", False),
        ("😱😱😱", False),
        ("Storm " * 41, False),
        ("Stormy " + "x" * 300 + " hits the coast", False),
    ],
)
def test_looks_like_headline_on_known_texts(text: str, expected: bool) -> None:
    assert looks_like_headline(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("north korea missile", False),
        ("female senators", False),
        ("preguntale al bot", True),
        ("Andrew Luck retires", False),
    ],
)
def test_an_english_word_is_no_verb_with_a_pronoun_and_a_name_no_talk(
    text: str, expected: bool
) -> None:
    assert is_talk(text) is expected


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_asked_about(text: str) -> None:
    assert looks_like_headline(text) in (True, False)

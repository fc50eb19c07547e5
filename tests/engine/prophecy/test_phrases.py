"""Only words are taken from what a model says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.prophecy.expand import LONGEST_PHRASE, read_phrases

HEADLINE = "Fuel hits a record"


@pytest.mark.parametrize(
    ("content", "phrases"),
    [
        ('{"phrases": ["pump prices", "OPEC"]}', ["pump prices", "OPEC"]),
        ('Sure!\n```json\n{"phrases": ["a b"]}\n```', ["a b"]),
        ('<think>{"phrases": ["no"]}</think>{"phrases": ["yes"]}', ["yes"]),
        ('{"phrases": ["first"]} {"phrases": ["last"]}', ["last"]),
        ('{"phrases": []}', []),
        ('{"phrases": ["x y", "X  Y!", 7, null, ["z"], {"a": 1}, "", "...", "🔥"]}', ["x y"]),
        ('{"phrases": ["see http://evil.example/x now", "www.evil.example"]}', ["see now"]),
        ('{"phrases": ["visit evil.example today"]}', ["visit evil example today"]),
        ('{"phrases": ["<b>bold</b> @all <!channel> [x](y)"]}', ["b bold b all channel x y"]),
        ('{"phrases": ["line\\nline\\u2028line\\u0000 \\u202eline"]}', ["line line line line"]),
        ('{"phrases": ["U.S. gas at $4.43, S&P #MAGA"]}', ["U.S. gas at $4.43, S&P #MAGA"]),
        ('{"phrases": ["FUEL hits a RECORD!", "precio récord"]}', ["precio récord"]),
        ("no json", None),
        ('{"scores": []}', None),
        ('["pump prices"]', ["pump prices"]),
        ('{"phrases": ["pump prices", "r\\u00e9cord high", "cut o', ["pump prices", "récord high"]),
        ('{"phrases": [{"phrase": "pump prices"}, {"phrase": "OPEC"}]}', ["pump prices", "OPEC"]),
        ("1. pump prices\n2. OPEC", ["pump prices", "OPEC"]),
        ("I'm sorry, I can't help with that.", None),
    ],
)
def test_phrases_are_read_and_cleaned(content: str, phrases: list[str] | None) -> None:
    found = read_phrases(content, headline=HEADLINE)
    assert found == (None if phrases is None else tuple(phrases))


@given(st.lists(st.text()))
def test_phrases_are_reduced_to_plain_words(said: list[str]) -> None:
    for one in read_phrases(json.dumps({"phrases": said})) or ():
        assert 0 < len(one) <= LONGEST_PHRASE
        assert not set(one) & set('<>@[]()"/\\*`|{}\n')


@given(st.text())
def test_any_answer_can_be_read(content: str) -> None:
    assert all(phrase.strip() for phrase in read_phrases(content) or ())

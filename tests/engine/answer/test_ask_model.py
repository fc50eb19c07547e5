"""Answers as models write them, and as they should not."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.answer.ask_model import read_claims
from engine.answer.cited_answer import Claim

WHOLE = '{"claims":[{"text":"Coffee rose.","sources":[1,3]},{"text":"Tea fell.","sources":[2]}]}'
READ = (Claim(text="Coffee rose.", passages=(1, 3)), Claim(text="Tea fell.", passages=(2,)))


def read(content: str, given: int = 3) -> tuple[Claim, ...] | None:
    return read_claims(content, ["Coffee."] * given, Counter())


@pytest.mark.parametrize(
    "content",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Here it is: {WHOLE} I hope it helps.",
        f"<think>[1] {{}} hm</think>{WHOLE}",
        WHOLE[:-2],  # cut off after the last claim
        f'{WHOLE[:-2]}, {{"text": "and cut',
        WHOLE.replace("[1,3]", '["1", "[3]"]').replace("[2]", "2"),
        WHOLE.replace("rose.", "rose. [1]").replace('"sources":[1,3]', '"sources":[3, 1, 1]'),
        "Coffee rose [1, 3]. Tea fell [2].",
        "Coffee rose. [1][3] Tea fell. [2]",
        "- Coffee rose. [1][3]\n- **Tea** fell. [2]",
    ],
)
def test_many_answer_formats_are_read_alike(content: str) -> None:
    claims = read(content) or ()
    assert [(c.text, sorted(c.passages)) for c in claims] == [
        (c.text, sorted(c.passages)) for c in READ
    ]


@pytest.mark.parametrize(
    "content",
    [
        '{"claims": []}',
        '{"claims": [{"text": "The sources do not say.", "sources": []}]}',
        "The sources do not say.",
        "The passages don't mention the price.",
        "Las fuentes no dicen nada de eso.",
    ],
)
def test_an_answer_that_sources_say_nothing_is_read_as_no_claims(content: str) -> None:
    assert read(content) == ()


@pytest.mark.parametrize("content", ["", " \n", "<think>hm", '{"claims"', '{"a": 1}', "[1]"])
def test_content_without_an_answer_is_unreadable(content: str) -> None:
    assert read(content) is None


def test_citations_of_unknown_passages_are_dropped_and_counted() -> None:
    damage = Counter[str]()
    content = json.dumps({"claims": [{"text": "So [9].", "sources": [0, 2, 4, -1, "x", True]}]})
    assert read_claims(content, ["Coffee."] * 3, damage) == (Claim(text="So.", passages=(2,)),)
    assert damage["unknown_source"] == 5


def test_a_claim_without_a_source_stays_one() -> None:
    assert read('{"claims":["Just so.", {"text":"And so.","sources":null}]}') == (
        Claim(text="Just so.", passages=()),
        Claim(text="And so.", passages=()),
    )


def test_an_oversized_answer_is_bounded() -> None:
    content = json.dumps({"claims": [{"text": "word " * 1000, "sources": [1]}] * 15})
    claims = read(content[:63_000] + "x" * 10_000_000) or ()
    assert 0 < len(claims) <= 20
    assert all(len(claim.text) <= 1000 for claim in claims)


@given(st.text(max_size=200) | st.text(alphabet='{}[]":, 0123claimstextsources', max_size=200))
def test_reading_never_raises_and_never_invents_passage_numbers(content: str) -> None:
    for claim in read(content) or ():
        assert claim.text
        assert set(claim.passages) <= {1, 2, 3}

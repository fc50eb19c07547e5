"""Answers in unusual shapes are read where a person would read them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.judge.answer import read_judgments
from engine.judge.shapes import reshape_answer


@pytest.mark.parametrize(
    "content",
    [
        '{"n": 3, "scores": {"1": {"score": 5, "why": "x"}, "2": {"score": 6}}}',
        '{"n": 3, "scores": {"1": {"rating": "5/6"}, "2": {"rating": "6/6"}}}',
        '{"n": 3, "scores": [["1", "5/6"], ["2", "6 - exact"]]}',
        '{"n": 3, "scores": [[1, "5 out of 6"], [2, "**6**"]]}',
        '{"n": 3, "scores": [{"i": "#1", "score": "5/6"}, {"i": "2.", "score": "6 (same event)"}]}',
        '{"n": 3, "scores": [{"1": {"score": 5}}, {"2": {"score": 6}}]}',
        "{'n': 3, 'scores': [[1, 5], [2, 6]]}",
        "{'n': 3, 'scores': [{'i': 1, 'score': 5}, {'i': 2, 'score': 6}]}",
        '{"n": 3, // all of them\n "scores": [[1, 5], /* exact */ [2, 6]]}',
        json.dumps('{"n": 3, "scores": [[1, 5], [2, 6]]}'),
        '{"i": 1, "score": 5}\n{"i": 2, "score": 6}\n{"n": 3}',
        '{"n": 3}\n{"i": 1, "s": "5/6", "why": "x"}\n{"i": 2, "s": "6/6"}\n',
    ],
)
def test_a_whole_answer_in_another_shape_is_read_whole(content: str) -> None:
    got = read_judgments(content, sent=3, finished=True)
    assert dict(got.scores) == {1: 5, 2: 6, 3: 0}


@pytest.mark.parametrize(
    "content",
    [
        "| i | score |\n|---|---|\n| 1 | 5 |\n| 2 | 6 |",
        "Here it is:\n\n| # | Tweet | Score | Why |\n|:-:|---|---|---|\n"
        "| 1 | about walls | 5/6 | x |\n| 2 | the wall | **6** | y |\n\nThat is all.",
        '{"i": 1, "score": 5}\n{"i": 2, "score": 6}',
        '{"1": {"score": 5}, "2": {"score": 6}}',
    ],
)
def test_an_answer_without_a_count_is_read_and_completes_nothing(content: str) -> None:
    got = read_judgments(content, sent=3, finished=True)
    assert dict(got.scores) == {1: 5, 2: 6}
    assert got.count is None


def test_reasons_come_through() -> None:
    content = '{"n": 2, "scores": {"1": {"score": "5/6", "why": "He said // so."}}}'
    assert read_judgments(content, sent=2, finished=True).reasons == {1: "He said // so."}


@pytest.mark.parametrize(
    "content",
    [
        '{"n": 3, "scores": [[1, "high"], [2, "n/a"]]}',
        '{"n": 3, "scores": [[1, "5/10"], [2, "9/6"]]}',
        "| day | price |\n|---|---|\n| 1 | 5 |",
        '{"type": "object", "properties": {"n": {"type": "integer"}}}',
        "Tweets 1/2 and 5/6 are good.",
        "",
    ],
)
def test_what_gives_no_score_on_the_scale_is_not_one(content: str) -> None:
    scores = read_judgments(content, sent=3, finished=False).scores
    assert not scores.keys() & {1, 2} or set(scores.values()) == {0}


@given(st.text(alphabet="{}[]\"':,|/*0123456scoreni -\n", max_size=200))
def test_any_text_is_reshaped_or_left(content: str) -> None:
    reshaped = reshape_answer(content)
    assert reshaped is None or isinstance(json.loads(reshaped)["scores"], list)

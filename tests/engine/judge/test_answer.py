"""Answers of the judge are read however damaged, and nothing absent becomes 0 by accident."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.judge.answer import LONGEST, JudgeAnswer, plain_reason, read_judgments
from engine.judge.shapes import reshape_answer
from engine.search import HitKind

ALL_ZERO = {1: 0, 2: 0, 3: 0}


def read(content: str, *, sent: int = 3, finished: bool = True) -> JudgeAnswer:
    return read_judgments(content, sent=sent, finished=finished)


@pytest.mark.parametrize(
    ("content", "scores", "damage"),
    [
        # whole answers
        ('{"n": 3, "scores": [[1, 5], [3, 2]]}', {1: 5, 2: 0, 3: 2}, {}),
        ('{"n": 3, "scores": [[1, 0], [2, 0], [3, 0]]}', ALL_ZERO, {}),
        # wrapped in something
        ('```json\n{"n": 3, "scores": [[1, 5]]}\n```', {1: 5, 2: 0, 3: 0}, {"surrounded": 1}),
        (
            'Sure! Tweet [1] fits best.\n{"n": 3, "scores": [[1, 5]]}\nLet me know {if} so.',
            {1: 5, 2: 0, 3: 0},
            {"surrounded": 1},
        ),
        ('\ufeff{"n": 3, "scores": [[1, 5]]}', {1: 5, 2: 0, 3: 0}, {}),
        (
            '<think>maybe {"n": 3, "scores": [[2, 6]]}</think>{"n": 3, "scores": [[1, 5]]}',
            {1: 5, 2: 0, 3: 0},
            {},
        ),
        (
            'For example {"n": 9, "scores": [[2, 6]]}; here: {"n": 3, "scores": [[1, 5]]}',
            {1: 5, 2: 0, 3: 0},
            {"surrounded": 1},
        ),
        ('{"result": {"n": 3, "scores": [[1, 5]]}}', {1: 5, 2: 0, 3: 0}, {}),
        # other shapes
        (
            '{"n": 3, "scores": [{"i": 1, "s": 5}, {"id": "3", "score": 2, "reason": "x"}]}',
            {1: 5, 2: 0, 3: 2},
            {"reshaped": 2, "coerced": 1},
        ),
        ('{"n": 3, "scores": {"1": 5}}', {1: 5, 2: 0, 3: 0}, {"reshaped": 1, "coerced": 1}),
        (
            '{"n": 3, "scores": [{"1": 5}, {"2": 1}]}',
            {1: 5, 2: 1, 3: 0},
            {"reshaped": 2, "coerced": 2},
        ),
        ('{"n": 3, "scores": [[[1, 5], [2, 3]]]}', {1: 5, 2: 3, 3: 0}, {}),
        ('{"n": "3", "scores": [["1", "5"]]}', {1: 5, 2: 0, 3: 0}, {"coerced": 1}),
        ('{"n": 3.0, "scores": [[1.0, 4.6]]}', {1: 5, 2: 0, 3: 0}, {"coerced": 1}),
        ('{"n": 3, "scores": [[1, 5], [2, 3],]}', {1: 5, 2: 3, 3: 0}, {"trailing_comma": 1}),
        # no count: what is absent is not judged
        ("[[1, 5], [2, 3]]", {1: 5, 2: 3}, {"miscounted": 1}),
        ('{"1": 5, "2": 3}', {1: 5, 2: 3}, {"miscounted": 1, "reshaped": 1, "coerced": 2}),
        ('{"scores": [[1, 5]]}', {1: 5}, {"miscounted": 1}),
        ('{"n": 2, "scores": [[1, 5]]}', {1: 5}, {"miscounted": 1}),
        ('{"n": true, "scores": [[1, 5]]}', {1: 5}, {"miscounted": 1}),
        # repeated, foreign and impossible values
        ('{"n": 3, "scores": [[1, 5], [1, 5]]}', {1: 5, 2: 0, 3: 0}, {"repeated": 1}),
        ('{"n": 3, "scores": [[1, 2], [1, 6]]}', {1: 2, 2: 0, 3: 0}, {"repeated": 1}),
        ('{"n": 3, "scores": [[1, 3], [1, 2], [1, 6]]}', {1: 2, 2: 0, 3: 0}, {"repeated": 2}),
        ('{"n": 3, "scores": [[1, 5], [9, 6]]}', {1: 5}, {"unknown_number": 1}),
        (
            '{"n": 3, "scores": [[0, 5], [-1, 5], [1.5, 5]]}',
            {},
            {"unknown_number": 3, "coerced": 1},
        ),
        ('{"n": 3, "scores": [[1, -1], [2, 10]]}', {3: 0}, {"bad_score": 2}),
        ('{"n": 3, "scores": [[1, 6.4], [2, 6.6]]}', {1: 6, 3: 0}, {"bad_score": 1, "coerced": 2}),
        ('{"n": 3, "scores": [[1, 4], [1, 9]]}', {1: 4, 2: 0, 3: 0}, {"bad_score": 1}),
        ('{"n": 3, "scores": [[1, NaN], [2, Infinity]]}', {3: 0}, {"bad_score": 2, "coerced": 2}),
        ('{"n": 3, "scores": [[1, null], [2, true]]}', {3: 0}, {"bad_score": 2, "coerced": 2}),
        ('{"n": 3, "scores": [[1, "high"]]}', {2: 0, 3: 0}, {"bad_score": 1, "coerced": 1}),
        # entries that say nothing: something may have been lost
        ('{"n": 3, "scores": [[1, 5], 2]}', {1: 5}, {"unreadable": 1}),
        ('{"n": 3, "scores": [[1, 5], "and so on"]}', {1: 5}, {"unreadable": 1}),
        ('{"n": 3, "scores": [[1, 5], {"tweet": "x"}]}', {1: 5}, {"unreadable": 1, "reshaped": 1}),
        ('{"n": 3, "scores": null}', {}, {"unreadable": 1}),
        # cut off
        ('{"n": 3, "scores": [[1, 5], [2, 3], [3', {1: 5, 2: 3}, {"truncated": 1}),
        ('{"n": 3, "scores": [{"i": 1, "s": 5}, {"i": 2, "s": 3', {1: 5}, {"truncated": 1}),
        ('{"n": 3, "scores": {"1": 5, "2": 3, "3": 4', {1: 5, 2: 3}, {"truncated": 1}),
        ('{"n": 3, "scores": [{"1": 5}, {"2": 3}, {"3', {1: 5, 2: 3}, {"truncated": 1}),
        ("{'n': 3, 'scores': [(1, 5), (2, 3)]}", {1: 5, 2: 3}, {"truncated": 1}),
        ("[[1, 5], [2, 3], [3, ", {1: 5, 2: 3}, {"truncated": 1}),
        # nothing usable
        ("", {}, {"empty": 1}),
        ("I cannot help with that.", {}, {"unreadable": 1}),
        ("Tweets [1, 5] and [2, 6] are good.", {}, {"unreadable": 1}),
        ('{"error": "overloaded"}', {}, {"unreadable": 1}),
        ("[" * 100_000, {}, {"unreadable": 1}),
        (
            f'{{"n": {"9" * 309}, "scores": [[{"9" * 309}, 5], [2, 5]]}}',
            {2: 5},
            {"unknown_number": 1},
        ),
    ],
)
def test_malformed_answers_are_read(
    content: str, scores: dict[int, int], damage: dict[str, int]
) -> None:
    got = read(content)
    assert dict(got.scores) == scores
    assert {kind: got.damage[kind] for kind in damage} == damage
    assert got.damage.keys() - damage.keys() <= {"miscounted"}


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        ('{"n": 3, "scores": [[1, 5]], "why": [{"i": 1, "why": "he said so"}]}', {1: "he said so"}),
        ('{"n": 3, "scores": [[1, 5]], "why": [[1, "he said so"]]}', {1: "he said so"}),
        ('{"n": 3, "scores": [[1, 5]], "why": {"1": "he said so"}}', {1: "he said so"}),
        ('{"n": 3, "scores": [[1, 5, "p"]], "why": [{"i": 1, "why": "so"}]}', {1: "so"}),
        ('{"n": 3, "scores": [[1, 5, "he said so"]]}', {1: "he said so"}),
        ('{"n": 3, "scores": [[1, 5]], "why": "because"}', {}),
        ('{"n": 3, "scores": [[1, 5]], "why": [{"i": 1, "why": 7}, {"why": "x"}, 3, []]}', {}),
        ('{"n": 3, "scores": [[1, 5]], "why": [{"i": 2, "why": "scored nothing"}]}', {}),
    ],
)
def test_reasons_in_any_shape_cost_no_judgment(content: str, reasons: dict[int, str]) -> None:
    got = read(content)
    assert got.scores == {1: 5, 2: 0, 3: 0}
    assert got.reasons == reasons


JUNK = st.text(alphabet='0123456789[]{}",: \nnscoreiNa-.<think>/`', max_size=300)


@given(st.one_of(JUNK, st.text(), JUNK.map(lambda text: '{"n": 3, "scores": ' + text)))
def test_any_text_gives_scores_in_range_for_known_numbers(content: str) -> None:
    got = read(content)
    assert got.scores.keys() <= {1, 2, 3}
    assert all(0 <= score <= 6 for score in got.scores.values())
    assert got.scores or got.damage


@pytest.mark.parametrize("number", ["i", "id", "index", "number"])
@pytest.mark.parametrize("score", ["s", "score", "judgment", "rating"])
def test_alternative_key_names_of_models_are_read(number: str, score: str) -> None:
    whole = f'{{"n": 3, "scores": [{{"{number}": 1, "{score}": 5}}]}}'
    assert dict(read(whole).scores) == {1: 5, 2: 0, 3: 0}
    assert dict(read(whole[:-2]).scores) == {1: 5}


P, D, M, C = HitKind.PREDICTION, HitKind.DEMAND, HitKind.MIRROR, HitKind.EARLIER_CASE


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ('{"n": 3, "scores": [[1, 5, "p"], [2, 4, "d"], [3, 3, "m"]]}', {1: P, 2: D, 3: M}),
        (
            '{"n": 3, "scores": [[1, 5, "Warning"], [2, 4, "promise"], [3, 3, "c"]]}',
            {1: P, 2: D, 3: C},
        ),
        ('{"n": 3, "scores": [{"i": 1, "score": 5, "kind": "mirror"}, [2, 4]]}', {1: M}),
        ('{"n": 3, "scores": [[1, 5, "who knows"], [2, 4, 7], [3, 0, "p"]]}', {}),
        ('{"n": 3, "scores": [[1, 5, "p"], [2, 4, "c"], [3, ', {1: P, 2: C}),
    ],
)
def test_kinds_are_read_where_they_are_told(content: str, kinds: dict[int, HitKind]) -> None:
    assert read(content).kinds == kinds


@pytest.mark.parametrize(
    ("written", "best"),
    [
        ("[2, 1]", (2, 1)),
        ('["2", 1.0, 2]', (2, 1)),
        ("[3, 9, 0, null, 1]", (1,)),  # 3 is scored too low, and the others are none
        ("[1, 2, 4, 5]", (1, 2, 4)),
        ("[]", ()),
        ('"2"', ()),
    ],
)
def test_the_best_are_those_scored_four_or_more(written: str, best: tuple[int, ...]) -> None:
    scores = "[[1, 5], [2, 6], [3, 3], [4, 4], [5, 4]]"
    content = f'{{"n": 5, "scores": {scores}, "best": {written}, "why": []}}'
    assert read_judgments(content, sent=5, finished=True).best == best
    broken = content.replace('"why": []}', '"why": [{"i": 1, "why": "he said "no" ')
    assert read_judgments(broken, sent=5, finished=True).best == best


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("He promised it in 2012.", "He promised it in 2012."),
        ("  two\nlines\tand\x00more ", "two lines and more"),
        ("see evil.example/a or www.evil.example or t.me/joinchat", "see or or"),
        ("see evil.рф or evil。example/a or пример.испытание", "see or or"),
        ("he said it, type /forget or ＠someone or //stop", "he said it, type forget or or stop"),
        ("write /for*get now or ev`il.`рф", "write for get now or ev il. рф"),
        ("mailto:you@evil.example writes", "writes"),
        ("ask @someone and <@U123> and <!channel>", "ask and and"),
        ("the U.S. pays 3.5 % more", "the U.S. pays 3.5 % more"),
        ("<b>bold</b> [link](x) *loud* `code` #tag", "b bold b link (x) loud code tag"),
        ("turned \u202eround\u2066 and\u200b hidden", "turned round and hidden"),
        ("fits\U000e0069\U000e0067\U000e0100 well", "fits well"),
        (" ".join("abcdefghijklmnop"), "a b c d e f g h i j k l m n o p"),
        ("word " * 60, None),
        ("then: he said one way or…", None),
        ("... 12 !", None),
        (None, None),
        (["he said so"], None),
    ],
)
def test_a_reason_is_reduced_to_plain_text(said: object, shown: str | None) -> None:
    assert plain_reason(said) == shown


@given(
    st.text()
    | st.lists(st.sampled_from(["word", "@x", "a.com", "https://b.org", "<i>"])).map(" ".join)
)
def test_a_reason_is_one_short_line_without_links(text: str) -> None:
    shown = plain_reason(text)
    if shown is None:
        return
    assert len(shown) <= LONGEST
    assert len(shown.splitlines()) == 1
    assert "://" not in shown
    assert not any(sign in shown for sign in "<>@[]`*\n")


@pytest.mark.parametrize(
    "content",
    [
        '{"n": 3, "scores": {"1": {"score": 5, "why": "x"}, "2": {"score": 6}}}',
        '{"n": 3, "scores": [["1", "5/6"], ["2", "6 - exact"]]}',
        '{"n": 3, "scores": [[1, "5 out of 6"], [2, "**6**"]]}',
        '{"n": 3, "scores": [{"i": "#1", "score": "5/6"}, {"i": "2.", "score": "6 (same event)"}]}',
        '{"n": 3, "scores": [{"1": {"score": 5}}, {"2": {"score": 6}}]}',
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
        "1. 5\n2. 6/6 - he said it",
        "- i: 1\n  score: 5\n- i: 2\n  score: 6",
    ],
)
def test_an_answer_without_a_count_is_read_and_completes_nothing(content: str) -> None:
    got = read_judgments(content, sent=3, finished=True)
    assert dict(got.scores) == {1: 5, 2: 6}
    assert got.count is None


@given(st.text(alphabet="{}[]\"':,|/*0123456scoreni -\n", max_size=200))
def test_any_text_is_reshaped_or_left(content: str) -> None:
    reshaped = reshape_answer(content)
    assert reshaped is None or isinstance(json.loads(reshaped)["scores"], list)

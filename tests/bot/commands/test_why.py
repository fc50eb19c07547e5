"""The receipt tells who judged, what it cost and what the score is made of."""

import pytest

from bot.commands.why import receipt
from engine.types import Hit, Usage, Verdict
from tests.bot.prophecies import JUDGED, make_hit, make_prophecy, make_term


def lines(*hits: Hit, verdict: Verdict = JUDGED) -> list[str]:
    return receipt(make_prophecy(*hits, verdict=verdict), hits).splitlines()


def test_a_judged_answer() -> None:
    assert lines(make_hit(2, factors={"repost": 0.5})) == [
        "4 candidates from demo; the best one covers 61% of what the headline's words weigh.",
        "2 were judged by openai/gpt-5-mini with prompt 3.",
        "Tokens: 4,321 in, 56 out; cost: $0.0012.",
        "",
        "2. score 0.83 from judgment 1.00, lexical 0.42, age 0.90",
        "   multiplied by: repost 0.50",
        "   words in common: coffee, prices",
    ]


def test_an_answer_without_a_model() -> None:
    hit = make_hit(parts={"judgment": None, "lexical": 0.5, "age": 0.1}, matched=())
    verdict = Verdict(scores={}, notice="Not judged: the key was refused.")
    assert lines(hit, verdict=verdict)[1:] == [
        "No model judged them.",
        "Not judged: the key was refused.",
        "",
        "1. score 0.83 from lexical 0.50, age 0.10",
        "   not judged",
        "   words in common: none",
    ]


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
def test_what_the_model_did_is_told(verdict: Verdict, expected: str) -> None:
    assert expected in lines(make_hit(), verdict=verdict)


def test_what_was_kept_is_not_counted_as_spent() -> None:
    verdict = Verdict(scores={1: 6}, cached=True, usage=Usage(prompt_tokens=7))
    assert "Tokens" not in "\n".join(lines(make_hit(), verdict=verdict))


def test_how_unknown_words_were_looked_for_is_told() -> None:
    prophecy = make_prophecy(terms=(make_term("coffee", neighbour_of="covfefe"),))
    assert 'No tweet says "covfefe"; looked for "coffee".' in receipt(prophecy, []).splitlines()

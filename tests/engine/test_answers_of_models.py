"""What reads the answers of models reads anything, at any length."""

import random

import pytest

from bench.text_functions import PIECES, Use, reader_uses

_SIZE = 70_000  # characters; readers take up to 64,000
_NUMBERS = ("9" * 309, "1e999", "-1", "0.5", "NaN", "Infinity", '"9"', "null", "true", "9" * 5000)
_ODD = (
    "</think>",
    "<think>",
    "```json\n",
    '"scores":',
    '"why":{',
    '"tweets":["',
    "\ud800",
    "\\u12",
)


_ANSWERS = (  # with # for a number
    '{"n": #, "scores": [[#, #], {"i": #, "s": #}, [1, #]]}',
    '{"claims": [{"text": "A.", "sources": [#]}]}',
    '{"pairs": [[#, #]], "queries": [#], "phrases": [#]}',
    '{"facts": [{"text": "A", "quote": "a", "passage": #, "confidence": #}]}',
    '{"facts": [{"text": "A", "quote": "a b", "passage": 1, "confidence": #}]}',
    '{"checks": [{"i": #, "verdict": "partly", "sources": [#], "edit": ""}]}',
    '{"variants": [{"tweets": [#, "A [#]."]}], "language": #}',
)
_READERS = [(name, use) for name, use in reader_uses() if "guard" not in name]


@pytest.mark.parametrize(("name", "use"), _READERS, ids=[name for name, _ in _READERS])
@pytest.mark.parametrize("seed", range(3))
def test_any_answer_is_read(name: str, use: Use, seed: int) -> None:
    chance = random.Random(f"{name} {seed}")
    pieces = [chance.choice((*PIECES, *_NUMBERS, *_ODD)) for _ in range(40)]
    text = ""
    while len(text) < _SIZE:
        text += chance.choice(pieces) * chance.choice((1, 1, 1, 50))
    use(text.encode("utf-8", "replace").decode() if "within" in name else text)


@pytest.mark.parametrize(("name", "use"), _READERS, ids=[name for name, _ in _READERS])
@pytest.mark.parametrize("number", _NUMBERS)
def test_any_number_is_read(name: str, use: Use, number: str) -> None:
    for answer in _ANSWERS if "whole" in name else ("#",):
        use(answer.replace("#", number))

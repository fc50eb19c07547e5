"""The objects in a model's answer are found, whatever stands around them or is wrong in them."""

import pytest

from engine.llm.answer_json import find_objects

ANSWER = {"phrases": ["the pier", "a wall"], "sure": True}


@pytest.mark.parametrize(
    "text",
    [
        '{"phrases": ["the pier", "a wall"], "sure": true}',
        '{"phrases": ["the pier", "a wall",], "sure": true,}',
        "{'phrases': ['the pier', 'a wall'], 'sure': True}",
        '{"phrases": ["the pier", // the first\n "a wall"], /* all */ "sure": true}',
        '"{\\"phrases\\": [\\"the pier\\", \\"a wall\\"], \\"sure\\": true}"',
        '{"name": "f", "arguments": {"phrases": ["the pier", "a wall"], "sure": true}}',
    ],
)  # fmt: skip
def test_an_answer_is_found_in_what_is_nearly_json(text: str) -> None:
    assert ANSWER in list(find_objects(text))


@pytest.mark.parametrize("text", ['{"a": "one\ntwo", "b": 1' + "0" * 5_000 + "}", '{"a": "x"}'])
def test_line_ends_and_endless_numbers_cost_nothing(text: str) -> None:
    assert [set(written) >= {"a"} for written in find_objects(text)] == [True]


def test_only_what_is_wrong_is_mended_and_no_quotation_or_address() -> None:
    [written] = find_objects('{"why": "calls it \'rigged\', and wins", "n": 3,}')
    assert written == {"why": "calls it 'rigged', and wins", "n": 3}
    [written] = find_objects("{'url': 'https://example.org/a', 'n': 3}")
    assert written == {"url": "https://example.org/a", "n": 3}

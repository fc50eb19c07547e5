"""Prompts and their versions go together."""

import json
from hashlib import sha256

import pytest

from engine.llm import prompts


def test_a_changed_prompt_needs_a_new_version() -> None:
    """If this fails: raise the prompt's version, then write the new digest here."""
    digests = {}
    for prompt in (prompts.JUDGE, prompts.JUDGE_WITH_REASONS):
        parts = [prompt.system, prompt.repair, json.dumps(dict(prompt.schema))]
        digests[prompt.version] = sha256("\n".join(parts).encode()).hexdigest()[:16]
    assert digests == {"judge-1": "48ccab38ff920af3", "judge-2": "56321acd96bf0ed0"}


def test_the_judge_prompt_defines_every_score_once() -> None:
    for score in range(7):
        assert prompts.JUDGE_SYSTEM.count(f"\n{score} ") == 1


@pytest.mark.parametrize("prompt", [prompts.JUDGE, prompts.JUDGE_WITH_REASONS])
def test_the_strict_schema_requires_every_property_and_allows_no_other(
    prompt: prompts.Prompt,
) -> None:
    schema = prompt.schema["schema"]
    assert isinstance(schema, dict)
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False


def test_the_second_question_shows_the_form_that_the_schema_demands() -> None:
    assert '"why": []}' in prompts.JUDGE_WITH_REASONS.repair
    assert '"why"' not in prompts.JUDGE.repair + prompts.JUDGE.system

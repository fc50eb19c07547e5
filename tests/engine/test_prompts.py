"""Prompts and their versions go together."""

import json
from hashlib import sha256

import pytest

from engine.answer import prompt as answer
from engine.glossary import prompt as glossary
from engine.judge import prompts as judge
from engine.prophecy import expand

# The texts and the schema of each version.
PROMPTS = {
    judge.JUDGE.version: (judge.JUDGE.system, judge.JUDGE.repair, judge.JUDGE.schema),
    judge.JUDGE_WITH_REASONS.version: (
        judge.JUDGE_WITH_REASONS.system,
        judge.JUDGE_WITH_REASONS.repair,
        judge.JUDGE_WITH_REASONS.schema,
    ),
    expand.EXPANSION_VERSION: (expand.EXPANSION_SYSTEM, "", expand.EXPANSION_SCHEMA),
    glossary.GLOSSARY_VERSION: (
        glossary.GLOSSARY_SYSTEM,
        glossary.GLOSSARY_REPAIR,
        glossary.GLOSSARY_SCHEMA,
    ),
    answer.ANSWER_VERSION: (answer.ANSWER_SYSTEM, answer.ANSWER_REPAIR, answer.ANSWER_SCHEMA),
}


def test_a_changed_prompt_needs_a_new_version() -> None:
    """If this fails: raise the prompt's version, then write the new digest here."""
    digests = {}
    for version, (system, repair, schema) in PROMPTS.items():
        parts = [system, repair, json.dumps(dict(schema))]
        digests[version] = sha256("\n".join(parts).encode()).hexdigest()[:16]
    assert digests == {
        "judge-1": "48ccab38ff920af3",
        "judge-2": "56321acd96bf0ed0",
        "expansion-1": "7f906058a361b580",
        "glossary-1": "6657e6d9269aaa7e",
        "answer-1": "cedf087d32e5a97e",
    }


def test_the_judge_prompt_defines_every_score_once() -> None:
    for score in range(7):
        assert judge.JUDGE_SYSTEM.count(f"\n{score} ") == 1


@pytest.mark.parametrize("version", PROMPTS)
def test_the_strict_schema_requires_every_property_and_allows_no_other(version: str) -> None:
    schema = PROMPTS[version][2]["schema"]
    assert isinstance(schema, dict)
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False


def test_the_second_question_shows_the_form_that_the_schema_demands() -> None:
    assert '"why": []}' in judge.JUDGE_WITH_REASONS.repair
    assert '"why"' not in judge.JUDGE.repair + judge.JUDGE.system

"""Prompts and their versions go together."""

import json
from hashlib import sha256

from engine.llm import prompts


def test_a_changed_prompt_needs_a_new_version() -> None:
    """If this fails: raise JUDGE_VERSION, then write the new digest here."""
    parts = [prompts.JUDGE_SYSTEM, prompts.JUDGE_REPAIR, json.dumps(dict(prompts.JUDGE_SCHEMA))]
    digest = sha256("\n".join(parts).encode()).hexdigest()[:16]
    assert (prompts.JUDGE_VERSION, digest) == ("judge-1", "48ccab38ff920af3")


def test_the_judge_prompt_defines_every_score_once() -> None:
    for score in range(7):
        assert prompts.JUDGE_SYSTEM.count(f"\n{score} ") == 1


def test_the_strict_schema_requires_every_property_and_allows_no_other() -> None:
    schema = prompts.JUDGE_SCHEMA["schema"]
    assert isinstance(schema, dict)
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False

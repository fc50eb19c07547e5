"""The prompts of all steps, and the versions that enter cache keys."""

import json
import re
from dataclasses import replace

import pytest

from engine.answer.claims import ANSWER
from engine.compose.evidence import EVIDENCE_PROMPT, GAPS_PROMPT
from engine.compose.finish import CHECK_PROMPT
from engine.compose.write import WRITE_PROMPT
from engine.glossary.suggest import GLOSSARY
from engine.judge.judge import JUDGE
from engine.llm.asking import Prompt
from engine.posting.retold import RETELLINGS
from engine.prophecy.expand import EXPANSION

PROMPTS = (
    JUDGE, EXPANSION, GLOSSARY, ANSWER, RETELLINGS,
    GAPS_PROMPT, EVIDENCE_PROMPT, WRITE_PROMPT, CHECK_PROMPT,
)  # fmt: skip
by_version = pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.version)


@by_version
def test_a_prompt_with_any_text_changed_has_another_version(prompt: Prompt) -> None:
    schema = {**prompt.schema, "strict": False}
    changed = (
        replace(prompt, system=prompt.system + " Please."),
        replace(prompt, repair=(prompt.repair or "") + " Please."),
        replace(prompt, schema=schema),
    )
    assert len({prompt.version, *(one.version for one in changed)}) == 4
    assert replace(prompt).version == prompt.version


def test_the_prompt_version_separates_system_and_repair_text() -> None:
    schema = {"name": "a"}
    assert (
        Prompt(system="ab", repair="c", schema=schema).version
        != Prompt(system="a", repair="bc", schema=schema).version
    )


def test_versions_begin_with_the_names_of_their_schemas_and_are_all_different() -> None:
    names = [prompt.version.partition("-")[0] for prompt in PROMPTS]
    assert names == [
        "judgments", "expansion", "pairs", "answer", "retellings",
        "gaps", "evidence", "draft", "check",
    ]  # fmt: skip
    assert len({prompt.version for prompt in PROMPTS}) == len(PROMPTS)


def test_the_judge_prompt_defines_every_score_once_that_it_asks_for() -> None:
    assert re.findall(r"^\d", JUDGE.system, re.MULTILINE) == ["6", "5", "4", "3"]


@by_version
def test_the_strict_schema_requires_every_property_and_allows_no_other(prompt: Prompt) -> None:
    schema = prompt.schema["schema"]
    assert isinstance(schema, dict)
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False


def test_the_second_question_shows_the_form_that_the_schema_demands() -> None:
    schema = JUDGE.schema["schema"]
    assert isinstance(schema, dict)
    _, _, form = (JUDGE.repair or "").partition("form: ")
    assert list(json.loads(form)) == list(schema["properties"])

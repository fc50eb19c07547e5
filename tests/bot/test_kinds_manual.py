"""docs/kinds.md: its fields, weights and windows are those there are; its examples run."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic_ai.models.test import TestModel

from engine.contracts.requests import PersonalSearch, PublishedSearch, SearchContract, SocialSearch
from engine.contracts.results import PersonalSnippet, PublishedSnippet, Snippet, SocialSnippet
from engine.settings.searching import FindSettings
from engine.text.snippet import MAX_VOICE_TERMS, RADIUS
from engine.values import Kind
from tests.bot.conftest import Invoke

MANUAL = (Path(__file__).parents[2] / "docs" / "kinds.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^presagio (\w.*)$", MANUAL, re.MULTILINE)
PYTHON = MANUAL.partition("```python\n")[2].partition("```")[0]


PROFILES = FindSettings().profiles
RANKED = list(PROFILES)


def weights(kind: Kind) -> Mapping[str, float]:
    return PROFILES[kind].weights


def row(start: str, holds: str = "") -> str:
    """Return the one line of a table that starts so and holds that."""
    lines = [line for line in MANUAL.splitlines() if line.startswith(f"| {start} |")]
    [found] = [line for line in lines if holds in line]
    return found


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (PersonalSearch, "`personal`"),
        (SocialSearch, "`social`, `tweets`"),
        (PublishedSearch, "`published`, `library`"),
    ],
)
def test_manual_states_the_default_limits(kind: type[SearchContract], name: str) -> None:
    assert row(name).endswith(f"| {kind().limit} |")  # type: ignore[attr-defined]  # each has its own


@pytest.mark.parametrize("search", [PersonalSearch, SocialSearch, PublishedSearch])
def test_every_filter_is_described(search: type[SearchContract]) -> None:
    assert all(f"`{name}`" in MANUAL for name in search.model_fields)


@pytest.mark.parametrize("snippet", [PersonalSnippet, SocialSnippet, PublishedSnippet])
def test_every_field_of_a_snippet_is_described(snippet: type[Snippet]) -> None:
    assert all(f"`{name}`" in MANUAL for name in snippet.model_fields)


@pytest.mark.parametrize("kind", RANKED)
def test_manual_states_the_default_weights(kind: Kind) -> None:
    written = re.findall(r"(\w+) (0\.\d)", row(str(kind), "lexical"))
    assert {name: float(weight) for name, weight in written} == weights(kind)


def test_every_feature_is_explained() -> None:
    assert all(f"- **{name}**: " in MANUAL for kind in RANKED for name in weights(kind))


def test_manual_states_the_snippet_widths() -> None:
    assert f"at most {RADIUS[Kind.PERSONAL]} characters" in MANUAL
    assert f"articles: {RADIUS[Kind.PUBLISHED]};" in MANUAL
    assert (RADIUS[Kind.SOCIAL], MAX_VOICE_TERMS) == (None, 5)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run(invoke: Invoke, demo: str, example: str) -> None:
    done = invoke(*shlex.split(example))
    assert done.code == 0
    assert done.out or "No search is remembered." in done.err


async def test_the_agent_of_the_manual_answers(demo: str) -> None:
    made: dict[str, object] = {}
    exec(compile(PYTHON, "kinds.md", "exec"), made)
    ask = made["ask"]
    assert callable(ask)
    answer = await ask(TestModel(call_tools=["social_search"]), "What did they write?")
    assert "social_search" in answer

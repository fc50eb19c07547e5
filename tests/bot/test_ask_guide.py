"""docs/ask.md: its commands run, its options, outcomes and settings are those there are."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from engine.answer.types import AnswerOutcome
from engine.settings.searching import AnswerSettings
from tests.bot.conftest import Invoke

GUIDE = (Path(__file__).parents[2] / "docs" / "ask.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    return "".join(re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE))


COMMANDS = block("sh").splitlines()


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 5


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_runs(invoke: Invoke, demo: str, line: str) -> None:
    program, *arguments = shlex.split(line)
    assert program == "presagio"
    done = invoke(*arguments)
    assert done.code == 0, done
    assert done.out.strip()


def test_every_option_is_told(invoke: Invoke) -> None:
    offered = set(re.findall(r"(--[a-z-]+)", invoke("ask", "--help").out)) - {"--help", "--verbose"}
    told = set(re.findall(r"`(--[a-z-]+)", GUIDE.partition("| option |")[2].partition("##")[0]))
    assert told == offered


def test_every_outcome_is_told() -> None:
    table = GUIDE.partition("| `outcome` |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [
        one.value for one in AnswerOutcome
    ]


def test_its_settings_are_the_defaults() -> None:
    assert tomllib.loads(block("toml"))["answer"] == AnswerSettings().model_dump()

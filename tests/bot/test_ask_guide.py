"""docs/ask.md: its commands run, its outcomes are those there are."""

import re
import shlex
from pathlib import Path

import pytest

from engine.answer.cited_answer import AnswerOutcome
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


def test_every_outcome_is_told() -> None:
    table = GUIDE.partition("| `outcome` |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [
        one.value for one in AnswerOutcome
    ]

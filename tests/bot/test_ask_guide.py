"""docs/ask.md and docs/search.md: their commands run, the outcomes are those there are."""

import re
import shlex
from pathlib import Path

import pytest

from engine.answer.cited_answer import AnswerOutcome
from tests.bot.conftest import Invoke

DOCS = Path(__file__).parents[2] / "docs"
GUIDE, SEARCH = ((DOCS / name).read_text(encoding="utf-8") for name in ("ask.md", "search.md"))
BLOCKS = re.findall(r"^```sh\n(.*?)^```", GUIDE + SEARCH, re.DOTALL | re.MULTILINE)
LINES = "".join(BLOCKS).splitlines()
COMMANDS = [line for line in LINES if line.startswith("presagio ")]


def test_guide_contains_eight_commands() -> None:
    assert len(COMMANDS) == 8
    assert {line.partition(" ")[0] for line in LINES} <= {"presagio", "python"}


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

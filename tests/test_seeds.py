"""Properties try the same examples at each run of `make test`, and new ones in `make test-slow`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Prints what a property is given, under the profile that conftest.py loads.
DRAWN = """
import hypothesis, tests.conftest
from hypothesis import strategies as st
seen = []
@hypothesis.given(st.integers())
def drawn(number):
    seen.append(number)
drawn()
print(seen)
"""


def drawn(**environment: str) -> str:
    command = [sys.executable, "-c", DRAWN]
    own = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        command, cwd=ROOT, env=own, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "same"), [(None, True), ("random", False)])
def test_two_runs_draw_the_same_examples_unless_asked(profile: str | None, same: bool) -> None:
    environment = {"PRESAGIO_TEST_PROPERTIES": profile} if profile else {}
    assert (drawn(**environment) == drawn(**environment)) is same

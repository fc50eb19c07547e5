"""docs/extending.md: the examples work, their own tests included."""

import re
import sys
from types import ModuleType
from typing import cast

import pytest

from bench.docs import ROOT
from bot.cli.main import COMMANDS, CommandEntry
from engine.ingest import detect
from engine.ingest.reader import Reader
from tests.bot.conftest import Invoke

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def run_file(name: str) -> dict[str, object]:
    """Run a file of the page, and return its names."""
    source = PAGE.partition(f"<!-- file: {name} -->\n```python\n")[2].partition("```")[0]
    names: dict[str, object] = {"__name__": name.removesuffix(".py")}
    exec(compile(source, name, "exec"), names)
    return names


def load_tests(name: str) -> list[object]:
    return [value for key, value in run_file(name).items() if key.startswith("test_")]


def test_the_export_format(monkeypatch: pytest.MonkeyPatch) -> None:
    (reader,) = cast(tuple[Reader, ...], run_file("pinboard.py")["READERS"])
    monkeypatch.setattr(detect, "READERS", {reader.name: reader, **detect.READERS})
    monkeypatch.setattr("engine.ingest.normalise.READERS", detect.READERS)
    tests = load_tests("test_pinboard.py")
    assert len(tests) == 4
    for test in tests:
        assert callable(test)
        test()


def test_the_command(invoke: Invoke, demo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("bot.cli.span")
    module.__dict__.update(run_file("span.py"))
    monkeypatch.setitem(sys.modules, "bot.cli.span", module)
    ((name, summary),) = re.findall(r'^"(span)": "(.+)",$', PAGE, re.MULTILINE)
    assert (module.command.__doc__ or "").startswith(f"{summary}\n")
    entry = CommandEntry(name, "Texts", summary, name)
    monkeypatch.setattr("bot.cli.main.COMMANDS", (*COMMANDS, entry))
    for test in load_tests("test_span.py"):
        assert callable(test)
        test(invoke, demo)

"""docs/logs.md lists the events that the code logs, and no others."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from bench.house import calls

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "logs.md"
WITHOUT_FIELDS = {"stopped"}


def events(path: Path) -> Iterator[str]:
    for node in calls(path):
        if not isinstance(node.func, ast.Attribute):
            continue
        logs = ast.unparse(node.func.value) == "logger"
        if logs and any(keyword.arg == "extra" for keyword in node.keywords):
            for argument in node.args:
                yield from (
                    str(one.value)
                    for one in ast.walk(argument)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )


def test_every_event_is_listed() -> None:
    sources = [
        path for package in ("bot", "db", "engine") for path in (ROOT / package).rglob("*.py")
    ]
    logged = {event for path in sources for event in events(path)} | WITHOUT_FIELDS
    table = GUIDE.read_text(encoding="utf-8").partition("| event |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `([a-z ]+)` \|", table, re.MULTILINE)
    assert sorted(listed) == sorted(logged)

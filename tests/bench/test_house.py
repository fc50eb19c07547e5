"""The source keeps the rules of CONTRIBUTING.md, and the docs name files that exist."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.house import calls, circles, listing, modules

ROOT = Path(__file__).resolve().parents[2]
# What a convention calls for: `command` of each command line module, `main` of what runs.
SHARED = {"command", "main"}
_PUBLIC = re.compile(r"^(?:class|def|async def) ([A-Za-z]\w*)", re.MULTILINE)
_SOURCE = re.compile(r"\b(?:bot|db|engine|bench|tests)/[\w/*]+\.(?:py|sql|jsonl|md)\b")


def test_every_file_that_the_docs_name_exists() -> None:
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {
        (page.name, path)
        for page in pages
        for path in _SOURCE.findall(page.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    assert {one for one in named if not any(ROOT.glob(one[1]))} == set()


def test_every_folder_and_top_level_module_has_a_description() -> None:
    assert [line for line in listing(ROOT) if len(line.split()) < 3] == []


def test_packages_have_no_circular_imports() -> None:
    assert circles(modules(ROOT), ROOT) == []


def test_a_public_name_has_one_meaning() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for paths in modules(ROOT).values():
        for path in paths:
            for name in _PUBLIC.findall(path.read_text(encoding="utf-8")):
                homes[name].add(str(path.relative_to(ROOT)))
    assert len(homes) > 1000
    twice = {name: homes[name] for name in homes if len(homes[name]) > 1}
    assert {name: places for name, places in twice.items() if name not in SHARED} == {}


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

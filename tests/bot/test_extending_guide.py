"""docs/extending.md: the examples work, their own tests included."""

import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from bench.docs import ROOT
from bot.cli.main import COMMANDS, CommandEntry
from bot.commands import Command, Registry
from bot.commands.registry import Handler
from db.pool import Database
from engine.ingest import detect
from engine.ingest.reader import Reader
from tests.bot.conftest import Invoke
from tests.bot.conversing import Bot, bot_on, corpus

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def read_file(name: str) -> str:
    return PAGE.partition(f"<!-- file: {name} -->\n```python\n")[2].partition("```")[0]


def run_file(name: str) -> dict[str, object]:
    source = read_file(name)
    names: dict[str, object] = {"__name__": name.removesuffix(".py")}
    exec(compile(source, name, "exec"), names)
    return names


def test_what_the_page_names_exists() -> None:
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", prose)
    folders = ("bench", "bot", "db", "deploy", "docs", "engine", "examples", "tests")
    paths = [span for span in spans if "/" in span and span.partition("/")[0] in folders]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    code = {word for file in files for word in re.findall(r"\w+", file.read_text("utf-8"))}
    names = {span for span in spans if re.fullmatch(r"\w*[A-Z_]\w*", span)}
    assert names - code == set()


def load_tests(name: str) -> list[object]:
    return [value for key, value in run_file(name).items() if key.startswith("test_")]


def test_export_format_example_passes_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    (reader,) = cast(tuple[Reader, ...], run_file("pinboard.py")["READERS"])
    monkeypatch.setattr(detect, "READERS", {reader.name: reader, **detect.READERS})
    monkeypatch.setattr("engine.ingest.normalise.READERS", detect.READERS)
    tests = load_tests("test_pinboard.py")
    assert len(tests) == 3
    for test in tests:
        assert callable(test)
        test()


def test_command_example_passes_its_tests(
    invoke: Invoke, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_the_command_of_the_chats(storage: Database) -> None:
    names = run_file("size.py")
    commands = Registry((cast(Command, names["SIZE"]),), plain=cast(Handler, names["_size"]))
    corpora = [corpus("demo"), corpus("larga", 56573)]
    (test,) = load_tests("test_size.py")
    async with bot_on(storage, commands=commands, corpora=corpora) as bot:
        await cast(Callable[[Bot], Awaitable[None]], test)(bot)


@pytest.mark.slow
def test_the_files_pass_the_checks(tmp_path: Path) -> None:
    names = re.findall(r"<!-- file: (\S+) -->", PAGE)
    assert len(names) == 6
    for name in names:
        (tmp_path / name).write_text(read_file(name), encoding="utf-8")
        place = f"tests/{name}" if name.startswith("test_") else f"bot/cli/{name}"
        for check in (["check"], ["format", "--check"]):
            run_check("ruff", *check, f"--stdin-filename={place}", "-", text=read_file(name))
    run_check("mypy", *(str(tmp_path / name) for name in names))


def run_check(*command: str, text: str = "") -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

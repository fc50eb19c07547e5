"""docs/library.md: its example runs and is typed, and what it promises is there."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import engine

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLE = GUIDE.partition("```python\n")[2].partition("```")[0]
PROMISED = re.findall(r"^\| `(\w[\w.]*)\.(\w+)\((.*?)\)` \|", GUIDE, re.MULTILINE)


async def test_the_example_runs(demo: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(EXAMPLE, "library.md", "exec"), names)
    await names["main"]()
    listed, foretold, found, answered, missing = capsys.readouterr().out.splitlines()
    assert listed == "demo tweets 416"
    assert re.match(r"\d{4}-\d\d-\d\d \w", foretold)
    assert re.fullmatch(r"\d of \d+", found)
    assert answered.startswith("extracted ")
    assert "nowhere" in missing


@pytest.mark.slow
def test_the_example_is_typed_for_whoever_imports_it(tmp_path: Path) -> None:
    """Without a marker file, mypy would take every import for Any and say so."""
    for wing in ("bot", "engine", "db"):
        assert (ROOT / wing / "py.typed").exists()
    source = tmp_path / "example.py"
    source.write_text(
        EXAMPLE.replace("print(error)", "print(error)\n            reveal_type(answer)")
    )
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\n")
    command = [sys.executable, "-m", "mypy", "--strict", f"--config-file={config}"]
    done = subprocess.run(
        [*command, str(source)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Success" in done.stdout, done.stdout
    assert 'Revealed type is "engine.answer.types.CitedAnswer"' in done.stdout


def test_every_promised_function_takes_what_is_written() -> None:
    assert len(PROMISED) >= 5
    for home, name, written in PROMISED:
        if home.startswith("App"):
            continue
        parameters = inspect.signature(getattr(import_module(home), name)).parameters
        for part in filter(None, (one.strip() for one in written.split(","))):
            assert part == "*" or part.partition("=")[0] in parameters, (home, name, part)


def test_every_promised_value_can_be_imported() -> None:
    for name in engine.__all__:
        assert getattr(engine, name).__name__ == name
        assert name in dir(engine)
    with pytest.raises(AttributeError):
        _ = engine.no_such_name  # type: ignore[attr-defined]


def test_importing_the_package_imports_no_more() -> None:
    program = "import sys, engine; print([one for one in sys.modules if one[:7] == 'engine.'])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

"""Faults are put where they matter, and a fault that no test notices is told."""

import argparse
import ast
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench import mutants
from bench.mutants import CORE, ROOT, TESTS, Copies, list_mutants, list_tests, try_module
from bench.store import folder

MODULE = '''
"""At most 3."""

_LIMIT = 7

@cached(limit=2)
def is_short(text: Annotated[str, 4], most: int = 3) -> bool:
    """Return whether a text is short."""
    logger.info(5)
    note(zip(text, text, strict=True))
    return not len(text) > most
'''


def test_every_statement_with_an_effect_gets_faults() -> None:
    assert [mutant.fault for mutant in list_mutants(MODULE)] == [
        "3 -> 4",
        "3 -> 2",
        "note(zip(text, text, strict=True)) -> pass",
        "not len(text) > most -> len(text) > most",
        "len(text) > most -> len(text) >= most",
    ]


def test_a_mutant_differs_from_its_module_in_one_line() -> None:
    original = ast.unparse(ast.parse(MODULE)).splitlines()
    for mutant in list_mutants(MODULE):
        lines = mutant.source.splitlines()
        assert sum(a != b for a, b in zip(original, lines, strict=True)) == 1, mutant


def test_the_modules_of_the_tables_and_their_tests_exist() -> None:
    modules = (*CORE, *TESTS)
    assert not [module for module in modules if not (ROOT / module).is_file()]
    tests = {path for module in modules for path in list_tests(module)}
    assert not [path for path in tests if not (ROOT / "tests" / path).exists()]


def test_other_modules_map_to_their_mirrored_tests() -> None:
    assert list_tests("engine/query/find.py") == ("engine/query",)
    assert list_tests("engine/text/clean.py") == ("engine/text/test_clean.py",)


def test_sigterm_ends_a_bench_in_order() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, folder() as place:
        signal.raise_signal(signal.SIGTERM)
    assert (ended.value.code, place.exists()) == (128 + signal.SIGTERM, False)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.slow  # starts pytest four times
def test_surviving_mutants_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, copied = tmp_path / "source", tmp_path / "copied"
    copied.mkdir()
    monkeypatch.setattr(mutants, "ROOT", source)
    monkeypatch.setitem(CORE, "short.py", ("test_short.py",))
    (source / "tests").mkdir(parents=True)
    (source / "short.py").write_text("def is_short(text):\n    return len(text) < 3\n")
    tests = source / "tests" / "test_short.py"
    tests.write_text(
        "from short import is_short\n"
        "def test_short():\n    assert is_short('ab')\n    assert not is_short('abcd')\n"
    )
    copies = Copies(copied, 1, "")
    arguments = argparse.Namespace(seed=0, number=9)
    with ThreadPoolExecutor(1) as pool:
        tried, survivors = try_module("short.py", copies, pool, arguments)
    assert tried == 3
    assert {survivor.fault for survivor in survivors} == {
        "len(text) < 3 -> len(text) <= 3",
        "3 -> 4",
    }

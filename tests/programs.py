"""Programs that some tests need and `make setup` does not install."""

import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_NAMES = {"chromium": ("chromium", "chromium-browser")}
# Those without which a test fails; read before the environment is emptied for the tests.
_REQUIRED = frozenset(os.environ.get("PRESAGIO_TEST_PROGRAMS", "").split())


def find_program(name: str) -> str | None:
    """Return where a program is, by whichever of its names."""
    return next(filter(None, map(shutil.which, _NAMES.get(name, (name,)))), None)


def require_program(name: str) -> str:
    """Return where a program is. Without it the test is skipped, or it fails where the program was
    to be here (PRESAGIO_TEST_PROGRAMS)."""
    if place := find_program(name):
        return place
    if name in _REQUIRED:
        pytest.fail(f"needs {name}, which .ci/programs installs")
    pytest.skip(f"needs {name}")


@contextmanager
def python(program: str, *arguments: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a text as a program that uses this project, until the block ends."""
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as process:
        try:
            yield process
        finally:
            process.kill()


async def read_line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return await asyncio.to_thread(process.stdout.readline)

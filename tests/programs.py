"""Programs that some tests need and `make setup` does not install."""

import os
import shutil

import pytest

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

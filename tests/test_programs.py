"""Tests that need a program: skipped without it, and failed where it was to be installed."""

import pytest

from tests import programs
from tests.programs import require_program


def test_a_missing_program_skips_a_test_or_fails_it_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert require_program("python3").endswith("python3")
    with pytest.raises(pytest.skip.Exception, match="needs nonesuch"):
        require_program("nonesuch")
    monkeypatch.setattr(programs, "_REQUIRED", frozenset({"nonesuch"}))
    with pytest.raises(pytest.fail.Exception, match="needs nonesuch"):
        require_program("nonesuch")

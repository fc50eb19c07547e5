"""docs/decisions/0040-original-designs.md: each promise has a verdict, and its tests exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "decisions" / "0040-original-designs.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!requirement|---)(.+?) \| (.*?) \| (.*?)\|$", PAGE, re.MULTILINE)
NAMED = re.findall(r"`((?:tests|bot|engine|db)/[\w/.]+)(?:::(\w+))?`", PAGE)


def test_each_promise_has_a_verdict_and_a_place() -> None:
    assert len(ROWS) > 50
    for promise, verdict, place in ROWS:
        assert re.match(r"kept|otherwise: |rejected: ", verdict), promise
        assert place.strip() or verdict.startswith("rejected"), promise


@pytest.mark.parametrize(("path", "function"), NAMED)
def test_what_is_named_is_there(path: str, function: str) -> None:
    assert (ROOT / path).exists()
    if function:
        assert re.search(rf"\bdef {function}\(", (ROOT / path).read_text(encoding="utf-8"))

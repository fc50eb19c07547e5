"""The table of handed cases has a row for each of them, and says what came of it."""

import json
from pathlib import Path

import pytest

from bench import cases

README = """| files | expected | seen |
| --- | --- | --- |
| a01-a02, b5?-x-* | the title | ok |
"""
FEED = '<rss version="2.0"><channel><item><title>The pier opens</title></item></channel></rss>'
PAGE = "<title>The pier opens after years of work</title>"


@pytest.mark.slow
def test_each_case_has_a_row_with_what_is_expected_and_what_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("feeds", "pages"):
        (tmp_path / folder).mkdir()
    (tmp_path / "README.md").write_text(README)
    (tmp_path / "feeds" / "a02-pier.xml").write_text(FEED)
    (tmp_path / "feeds" / "b51-x-pier.xml").write_text("no feed")
    (tmp_path / "pages" / "p1.html").write_text(PAGE)
    (tmp_path / "model-answers.json").write_text('{"plain": {}}')
    cases.main([str(tmp_path)])
    feed, broken, page, answer = map(json.loads, capsys.readouterr().out.splitlines())
    assert feed["expected"] == broken["expected"] == "the title"
    assert feed["got"] == "The pier opens | None | no date"
    assert broken["got"].startswith("refused: ")
    assert page["got"] == "headline: The pier opens after years of work"
    assert answer["got"] == "judged 150 [5, 6], asked 1, counted 7120"

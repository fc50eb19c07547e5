"""The bench of stories told twice, on a few invented headlines."""

import json
from pathlib import Path

import pytest

from bench.retold import main

_STORIES = {
    "bank/holds": ["Bank of Aldor holds rates", "Governor leaves borrowing costs unchanged"],
    "bank/cuts": ["Bank of Aldor cuts rates"],
    "quake/first": ["Quake shakes the coast of Brena", "Tiembla la costa de Brena"],
    "quake/second": ["Another tremor hits Brena at night"],
    "bridge/opens": ["New bridge opens in Carrow", "Crowds cross the river on its first day"],
    "bridge/closes": ["Bridge in Carrow closed for cracks"],
}


def test_a_model_that_knows_the_truth_tells_each_story_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        {"event": event, "title": title, "date": f"2026-03-0{day + 1}T0{hour}:00:00Z"}
        for day, (event, titles) in enumerate(_STORIES.items())
        for hour, title in enumerate(titles)
    ]
    lines = "".join(f"{json.dumps(entry)}\n" for entry in entries)
    (tmp_path / "headlines.jsonl").write_text(lines)
    asked = tmp_path / "asked.jsonl"
    main([str(tmp_path), "--ask", str(asked), "--missed", "0.6", "--runs", "9"])
    printed = map(json.loads, capsys.readouterr().out.splitlines())
    rows = {row["rows"]: row for row in printed}
    assert rows["words"]["twice"] > 0
    assert rows["truth"]["twice"] == rows["truth"]["untold"] == 0
    assert rows["model"] == {**rows["words"], "rows": "model", "asked": rows["model"]["asked"]}
    assert len(asked.read_text().splitlines()) == rows["model"]["asked"]

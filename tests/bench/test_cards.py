"""The pictures to look at are drawn in both shapes."""

from pathlib import Path

import pytest

from bench import cards
from bot.card import Shape
from tests.png import read_size


def test_each_sample_is_drawn_in_both_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cards, "SAMPLES", {"word": cards.SAMPLES["word"]})
    cards.main([str(tmp_path / "new")])
    for shape in Shape:
        assert read_size((tmp_path / "new" / f"word-{shape}.png").read_bytes()) == shape.size
    assert "word-chat: " in capsys.readouterr().out

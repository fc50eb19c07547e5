"""The pictures of the README are there, and can be drawn anew."""

import re
import struct
from pathlib import Path

import pytest

from bench import cards, pictures
from bot.card import Shape
from tests.png import read_size

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def size(file: Path) -> tuple[int, int]:
    """Return the width and height of a PNG."""
    head = file.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_the_readme_is_short_and_shows_an_answer_and_the_page() -> None:
    assert README.count("\n") < 120
    shown = re.findall(r"docs/pictures/\w+\.png", README)
    assert shown == ["docs/pictures/answer.png", "docs/pictures/page.png"]
    for name in shown:
        assert size(ROOT / name)[0] >= 1000
        assert (ROOT / name).stat().st_size < 300_000


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_the_pictures_command_draws_them_in_the_right_size(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(server_folder))
    pictures.main(["--folder", str(server_folder / "drawn")])
    assert size(server_folder / "drawn" / "answer.png") == (1200, 630)
    assert size(server_folder / "drawn" / "page.png") == (1000, 1180)


def test_each_sample_is_drawn_in_both_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cards, "SAMPLES", {"word": cards.SAMPLES["word"]})
    cards.main([str(tmp_path / "new")])
    for shape in Shape:
        assert read_size((tmp_path / "new" / f"word-{shape}.png").read_bytes()) == shape.size
    assert "word-chat: " in capsys.readouterr().out

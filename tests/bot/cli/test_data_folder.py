"""What root writes below the data folder belongs to whoever owns that."""

from pathlib import Path

import pytest

from bot.cli.shared import make_folder


def test_folders_that_root_makes_belong_to_who_owns_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Path, int, int]] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.chown", lambda *of, **_: given.append(of))
    owner = (tmp_path.stat().st_uid, tmp_path.stat().st_gid)
    make_folder(tmp_path / "rejects" / "1", within=tmp_path)
    make_folder(tmp_path / "rejects" / "1", within=tmp_path)
    assert given == [(tmp_path / "rejects", *owner), (tmp_path / "rejects" / "1", *owner)]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    make_folder(tmp_path / "archives", within=tmp_path)
    assert (tmp_path / "archives").is_dir()
    assert len(given) == 2

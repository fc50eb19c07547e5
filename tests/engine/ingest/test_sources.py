"""Files that cannot be read are not left open."""

from pathlib import Path

import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from engine.errors import InputError
from engine.ingest.sources import Source, source_at

DAMAGED = b"\x1f\x8b\x08\x00" + b"x" * 50


def is_open(file: Path) -> bool:
    return str(file) in {opened.path for opened in psutil.Process().open_files()}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "damaged.gz").write_bytes(DAMAGED)
    return source_at(str(tmp_path / "damaged.gz"))


def test_a_damaged_file_is_closed_while_its_error_is_still_referenced(
    source: Source, tmp_path: Path
) -> None:
    # The error holds the frames of its traceback, and they the stream.
    with pytest.raises(InputError, match="is damaged") as kept:
        source.head("damaged.gz")
    assert not is_open(tmp_path / "damaged.gz"), kept


def test_a_file_that_was_looked_at_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "tweets.jsonl"
    file.write_bytes(b"{}\n")
    source = source_at(str(file))
    with source.open("tweets.jsonl"):
        assert is_open(file)
    assert source.head("tweets.jsonl") == b"{}\n"
    assert not is_open(file)

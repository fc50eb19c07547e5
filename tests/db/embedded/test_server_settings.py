"""The settings file of the embedded server."""

from pathlib import Path

import pytest

from db.embedded.cluster import SETTINGS_FILE, shared_buffers, write_settings

_MB = 1024 * 1024


@pytest.mark.parametrize(
    ("memory", "buffers"),
    [(128 * _MB, "64MB"), (1024 * _MB, "256MB"), (1536 * _MB, "384MB"), (64 * 1024 * _MB, "512MB")],
)
def test_a_quarter_of_the_memory_within_limits(memory: int, buffers: str) -> None:
    assert shared_buffers(memory) == buffers


def test_setting_values_are_quoted_and_can_be_overridden(tmp_path: Path) -> None:
    write_settings(tmp_path, Path("/it's \\ here"), {"fsync": "off", "jit": "on"})
    lines = (tmp_path / SETTINGS_FILE).read_text().splitlines()
    assert """unix_socket_directories = '"/it''s \\\\ here"'""" in lines
    assert "fsync = 'off'" in lines
    assert [line for line in lines if line.startswith("jit")] == ["jit = 'on'"]

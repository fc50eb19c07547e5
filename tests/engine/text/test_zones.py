"""Zones as people write them; what is none does no harm."""

from datetime import UTC

import pytest

from engine.chat import zone_named, zone_or_utc


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Europe/Madrid", "Europe/Madrid"),
        ("america/argentina/buenos_aires", "America/Argentina/Buenos_Aires"),
        ("America/New York", "America/New_York"),
        ("Madrid", "Europe/Madrid"),
        ("hora de Madrid", "Europe/Madrid"),
        ("buenos aires", "America/Argentina/Buenos_Aires"),
        ("utc", "UTC"),
        ("Etc/UTC", "UTC"),
    ],
)
def test_a_zone_is_found(written: str, expected: str) -> None:
    zone = zone_named(written)
    assert zone
    assert zone.key == expected


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "Springfield",
        "Europe/",
        "../../etc/passwd",
        "a\0b",
        "x" * 5000,
        "\ud800",
    ],
)
def test_an_invalid_zone_name_gives_none(written: str | None) -> None:
    assert zone_named(written) is None


def test_a_stored_zone_that_this_machine_lacks_is_utc() -> None:
    assert zone_or_utc("Nowhere/Atall") is UTC

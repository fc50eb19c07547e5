"""Quiet hours are the chat's own."""

from dataclasses import replace
from datetime import UTC, datetime, time

import pytest

from engine.chat import Chat
from engine.posting.choose import is_quiet

CHAT = Chat(id=1, platform="test", external_id="1", private=False)


@pytest.mark.parametrize(
    ("start", "end", "zone", "now", "expected"),
    [
        ("23:00", "08:00", "UTC", "23:00", True),
        ("23:00", "08:00", "UTC", "03:00", True),
        ("23:00", "08:00", "UTC", "07:59", True),
        ("23:00", "08:00", "UTC", "08:00", False),
        ("23:00", "08:00", "UTC", "22:59", False),
        ("12:00", "13:00", "UTC", "12:30", True),
        ("12:00", "13:00", "UTC", "13:00", False),
        ("00:00", "06:00", "UTC", "00:00", True),
        ("22:00", "00:00", "UTC", "23:59", True),
        ("22:00", "00:00", "UTC", "00:00", False),
        # In June Madrid is two hours ahead of UTC and Kolkata five and a half.
        ("23:00", "08:00", "Europe/Madrid", "21:00", True),
        ("23:00", "08:00", "Europe/Madrid", "06:00", False),
        ("23:00", "08:00", "Asia/Kolkata", "02:29", True),
        ("23:00", "08:00", "Asia/Kolkata", "02:30", False),
        ("23:00", "08:00", "Nowhere/Atall", "23:30", True),
    ],
)
def test_quiet_hours_are_local_and_may_span_midnight(
    start: str, end: str, zone: str, now: str, expected: bool
) -> None:
    chat = replace(
        CHAT,
        time_zone=zone,
        quiet_from=time.fromisoformat(start),
        quiet_to=time.fromisoformat(end),
    )
    moment = datetime.combine(datetime(2024, 6, 1, tzinfo=UTC), time.fromisoformat(now), UTC)
    assert is_quiet(chat, moment) is expected


def test_a_chat_without_quiet_hours_is_never_quiet() -> None:
    assert not any(is_quiet(CHAT, datetime(2024, 6, 1, hour, tzinfo=UTC)) for hour in range(24))

"""How long to wait after trouble."""

from datetime import timedelta

import pytest
from telegram.error import Conflict, NetworkError, RetryAfter, TelegramError

from bot.telegram.receiving import pause_after


@pytest.mark.parametrize(
    ("error", "failures", "seconds"),
    [
        (NetworkError("x"), 1, 1),
        (NetworkError("x"), 3, 4),
        (Conflict("x"), 5, 16),
        (NetworkError("x"), 6, 30),
        (NetworkError("x"), 5000, 30),
        (RetryAfter(7), 1, 7),
        (RetryAfter(timedelta(seconds=90)), 4, 90),
    ],
)
def test_pauses_grow_to_an_end_unless_telegram_says_how_long(
    error: TelegramError, failures: int, seconds: float
) -> None:
    assert pause_after(error, failures) == seconds

"""What may be set about the web adapter."""

import pytest

from bot.settings import load_settings
from engine.errors import SettingsError


@pytest.mark.parametrize(("written", "read"), [("1", 1), ("-1", -1), ("500", 500)])
def test_a_rate_is_a_number_or_no_limit(written: str, read: int) -> None:
    environ = {"PRESAGIO_WEB__REQUESTS_PER_MINUTE": written}
    assert load_settings(environ=environ).web.requests_per_minute == read


@pytest.mark.parametrize("written", ["0", "-2", "2.5", "many"])
def test_invalid_rate_is_refused(written: str) -> None:
    with pytest.raises(SettingsError, match="PRESAGIO_WEB__ANSWERS_PER_MINUTE"):
        load_settings(environ={"PRESAGIO_WEB__ANSWERS_PER_MINUTE": written})

"""What may be set about the web adapter."""

import pytest

from bot.settings import load_settings
from engine.errors import SettingsError


def test_keys_are_secrets_of_the_environment_and_are_never_shown() -> None:
    settings = load_settings(
        environ={"WEB_API_KEYS": "first-key,second-key", "WEB_ADMIN_KEYS": "admin-key"}
    )
    assert settings.secrets.web_api_keys
    assert settings.secrets.web_api_keys.get_secret_value() == "first-key,second-key"
    assert "first-key" not in repr(settings)
    assert "admin-key" not in repr(settings)


@pytest.mark.parametrize(("written", "read"), [("1", 1), ("-1", -1), ("500", 500)])
def test_a_rate_is_a_number_or_no_limit(written: str, read: int) -> None:
    environ = {"PRESAGIO_WEB__REQUESTS_PER_MINUTE": written}
    assert load_settings(environ=environ).web.requests_per_minute == read


@pytest.mark.parametrize("written", ["0", "-2", "2.5", "many"])
def test_invalid_rate_is_refused(written: str) -> None:
    with pytest.raises(SettingsError, match="PRESAGIO_WEB__ANSWERS_PER_MINUTE"):
        load_settings(environ={"PRESAGIO_WEB__ANSWERS_PER_MINUTE": written})

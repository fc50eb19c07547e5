"""Settings of the model that cannot work are refused before anything is sent."""

import pytest

from engine.errors import SettingsError
from engine.llm.settings import LlmSettings


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"base_url": "ftp://h/v1"}, "llm.base_url"),
        ({"base_url": "openrouter.ai/api/v1"}, "llm.base_url"),
        ({"base_url": "http://[::1/v1"}, "llm.base_url"),
        ({"base_url": ""}, "llm.base_url"),
        ({"base_url": "http://exa mple/v1"}, "llm.base_url"),
        ({"base_url": "http://a..b/v1"}, "llm.base_url"),
        ({"base_url": "http://localhost:99999/v1"}, "llm.base_url"),
        ({"connect_timeout": 0}, "llm.connect_timeout"),
        ({"read_timeout": -1}, "llm.read_timeout"),
        ({"total_timeout": float("nan")}, "llm.total_timeout"),
        ({"max_completion_tokens": 0}, "llm.max_completion_tokens"),
        ({"breaker_failures": 0}, "llm.breaker_failures"),
        ({"retries": -1}, "llm.retries"),
    ],
)
def test_an_impossible_value_is_named(changes: dict[str, object], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        LlmSettings(**changes)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("key", ["sk-secret\n", "sk secret", "sk-señal", "", "“sk-secret”"])
def test_a_key_that_fits_no_header_is_refused_without_quoting_it(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENROUTER_API_KEY") as raised:
        LlmSettings(api_key=key)
    assert "secret" not in str(raised.value)


def test_a_password_in_the_address_is_not_part_of_the_host() -> None:
    assert LlmSettings(base_url="https://me:word@models.example:8443/v1").host == "models.example"

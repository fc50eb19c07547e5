"""Endpoints that cannot work are refused before anything is sent."""

import pytest

from engine.errors import SettingsError
from engine.llm.endpoint import Endpoint, chat_endpoint, embeddings_endpoint
from engine.settings.models import EmbeddingSettings, LlmSettings


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/v1",
        "openrouter.ai/api/v1",
        "http://[::1/v1",
        "",
        "http://exa mple/v1",
        "http://a..b/v1",
        "http://localhost:99999/v1",
    ],
)
def test_an_impossible_address_is_named_by_its_setting(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^llm\.base_url is not .*openrouter\.ai/api/v1"):
        Endpoint(section="llm", base_url=url, model="m")
    with pytest.raises(SettingsError, match=r"^embeddings\.base_url is not .*api\.openai\.com/v1"):
        Endpoint(section="embeddings", base_url=url, model="m")


@pytest.mark.parametrize("key", ["sk-secret\n", "sk secret", "sk-señal", "", "“sk-secret”"])
def test_a_key_that_fits_no_header_is_refused_without_quoting_it(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENROUTER_API_KEY") as raised:
        chat_endpoint(LlmSettings(), key)
    assert "secret" not in str(raised.value)
    with pytest.raises(SettingsError, match="EMBEDDINGS_API_KEY"):
        embeddings_endpoint(EmbeddingSettings(model="m"), key)


def test_an_embeddings_endpoint_needs_a_model_name() -> None:
    with pytest.raises(SettingsError, match=r"\[embeddings\] model is empty"):
        embeddings_endpoint(EmbeddingSettings(), None)


def test_a_password_in_the_address_is_not_part_of_the_host() -> None:
    settings = LlmSettings(base_url="https://me:word@models.example:8443/v1")
    assert chat_endpoint(settings, None).host == "models.example"


@pytest.mark.parametrize(
    ("url", "key", "can"),
    [
        ("https://openrouter.ai/api/v1", None, False),
        ("https://openrouter.ai/api/v1", "k", True),
        ("http://localhost:11434/v1", None, True),
    ],
)
def test_openrouter_is_used_only_with_a_key(url: str, key: str | None, can: bool) -> None:
    assert chat_endpoint(LlmSettings(base_url=url), key).can_be_asked is can

"""Endpoints that cannot work are refused before anything is sent."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingsError
from engine.fetch import requested_pause
from engine.llm.endpoint import (
    QUOTE_LENGTH,
    Endpoint,
    endpoint_of,
    quote_answer,
)
from engine.settings.models import EmbeddingSettings, LlmSettings


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/v1",
        "http://[::1/v1",
        "",
        "http://exa mple/v1",
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
        endpoint_of(LlmSettings(), key)
    assert "secret" not in str(raised.value)
    with pytest.raises(SettingsError, match="EMBEDDINGS_API_KEY"):
        endpoint_of(EmbeddingSettings(model="m"), key)


@pytest.mark.parametrize(
    ("url", "key", "can"),
    [
        ("https://openrouter.ai/api/v1", None, False),
        ("https://openrouter.ai/api/v1", "k", True),
        ("http://localhost:11434/v1", None, True),
    ],
)
def test_openrouter_is_used_only_with_a_key(url: str, key: str | None, can: bool) -> None:
    assert endpoint_of(LlmSettings(base_url=url), key).can_be_asked is can


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-5", 0.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Fri, 31 Dec 9999 23:59:59 -2300", None),  # past all dates
        ("Sun, 01 Mar 2026 09:00:30 -0300", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("Sun, 99 Mar 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(header: str | None, seconds: float | None) -> None:
    assert requested_pause(header, NOW) == seconds


@given(st.text(), st.text(), st.from_regex(r"\A[A-Za-z0-9_-]{12,40}\Z"))
def test_a_quote_is_one_short_line_without_the_key(before: str, after: str, key: str) -> None:
    quoted = quote_answer(f"{before}{key}{after}", key)
    assert key not in quoted
    assert len(quoted) <= QUOTE_LENGTH
    assert len(quoted.splitlines()) <= 1


@pytest.mark.parametrize(
    "said", ["sk-proj-abcdefgh", "Bearer abcdefgh12345", "bearer  abcdefgh", "sk-ab****efgh."]
)
def test_foreign_keys_are_masked_by_their_shape(said: str) -> None:
    assert quote_answer(f"bad key: {said} given", None).startswith("bad key: ***")
    assert "efgh" not in quote_answer(said, None)

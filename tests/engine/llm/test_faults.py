"""Server texts are quoted safely and Retry-After is read in both of its forms."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fetch import requested_pause
from engine.llm.endpoint import QUOTE_LENGTH, quote_answer

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("0.5", 0.5),
        ("-5", 0.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sunday, 01-Mar-26 12:00:30 GMT", 30.0),
        ("Fri, 31 Dec 9999 23:59:59 -2300", None),  # past all dates
        ("Sun, 01 Mar 2026 12:00:30 -0000", 30.0),
        ("Sun, 01 Mar 2026 09:00:30 -0300", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Sun, 99 Mar 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_parsed_as_seconds_or_date(
    header: str | None, seconds: float | None
) -> None:
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

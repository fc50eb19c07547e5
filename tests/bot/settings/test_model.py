"""A database URL never shows its password; settings cannot be changed."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.settings import masked_url
from bot.settings.model import Sections


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("postgresql://host/x", "postgresql://host/x"),
        ("postgresql://me@host/x", "postgresql://me@host/x"),
        ("postgres://me:secret@host:5432/x", "postgres://me:****@host:5432/x"),
        ("postgresql://me:se@cr/et@host/x", "postgresql://me:****@host/x"),
        ("postgresql://:secret@host/x", "postgresql://:****@host/x"),
        ("postgresql://host:5432/x?user=me@home", "postgresql://host:****@home"),  # in doubt, hide
        ("postgresql://host/x?password=secret&a=b", "postgresql://host/x?password=****&a=b"),
        ("postgresql://host/x?a=b&sslpassword=secret", "postgresql://host/x?a=b&sslpassword=****"),
        ("host=x password=secret", "****"),
    ],
)
def test_passwords_are_masked(url: str, shown: str) -> None:
    assert masked_url(url) == shown


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_no_password_survives_masking(password: str) -> None:
    shown = masked_url(f"postgresql://me:SECRET{password}SECRET@host/x")
    assert "SECRET" not in shown
    assert shown.endswith("@host/x")


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Sections().search.limit = 9  # type: ignore[misc]  # the point of the test


def test_the_longest_exclusion_still_leaves_a_date() -> None:
    months = 1200
    assert Sections.model_validate({"search": {"exclude_recent_months": months}})
    assert datetime(1970, 1, 1, tzinfo=UTC) - timedelta(days=31 * months)
    with pytest.raises(ValidationError, match="less than or equal to 1200"):
        Sections.model_validate({"search": {"exclude_recent_months": months + 1}})

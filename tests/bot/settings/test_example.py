"""config.example.toml lists every key with its default and its description, and nothing else."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from bot.settings import masked_url
from bot.settings.model import Sections
from bot.settings.sources import section_fields
from engine.settings import Section

EXAMPLE = Path(__file__).resolve().parents[3] / "config.example.toml"


def plain(value: object) -> object:
    """Return a default as TOML reads it."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return list(value) if isinstance(value, tuple) else value


def defaults() -> dict[str, dict[str, object]]:
    tables: dict[str, dict[str, object]] = {}
    for section, key, default in section_fields():
        tables.setdefault(section, {})[key] = plain(default)
    return tables


def test_the_example_holds_the_defaults_and_nothing_else() -> None:
    assert tomllib.loads(EXAMPLE.read_text(encoding="utf-8")) == defaults(), "run: make docs"


def test_defaults_cover_every_section_and_key() -> None:
    assert {name: set(table) for name, table in defaults().items()} == {
        name: set(dict(section)) for name, section in Sections() if isinstance(section, Section)
    }


def test_every_key_has_its_description_above_it() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    for section in defaults():
        table = getattr(Sections(), section)
        start = lines.index(f"[{section}]")
        for key, field in type(table).model_fields.items():
            at = next(i for i in range(start, len(lines)) if lines[i].startswith(f"{key} = "))
            above: list[str] = []
            while lines[at - 1].startswith("# "):
                at -= 1
                above.insert(0, lines[at].removeprefix("# "))
            assert field.description
            assert " ".join(above) == field.description


def test_the_example_names_every_secret_and_the_folder() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    for name in (
        "OPENROUTER_API_KEY",
        "TELEGRAM_BOT_TOKEN",
        "SLACK_BOT_TOKEN",
        "SLACK_APP_TOKEN",
        "SLACK_SIGNING_SECRET",
        "DATABASE_URL",
        "PRESAGIO_DATA_DIR",
        "PRESAGIO_CONFIG",
    ):
        assert name in text


def test_the_commented_tables_are_right_when_they_are_uncommented() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    start = lines.index("# [[feeds]]")
    end = lines.index("", start)
    shown = "\n".join(line.removeprefix("# ") for line in lines[start:end])
    feeds = Sections.model_validate(tomllib.loads(shown)).feeds
    assert [feed.category for feed in feeds] == ["news", "tech"]


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

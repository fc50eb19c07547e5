"""config.example.toml lists every key with its default and its description, and nothing else."""

import tomllib
from pathlib import Path

from pydantic import SecretStr

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
    assert tomllib.loads(EXAMPLE.read_text(encoding="utf-8")) == defaults()


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

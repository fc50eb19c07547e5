"""The settings of how finds are ranked reach the engine, and their defaults are the engine's."""

from pathlib import Path

import pytest

from bot.settings import load_settings
from engine.errors import SettingsError
from engine.settings.searching import FindSettings, named_worth
from engine.values import Kind


def test_the_defaults_are_those_of_the_engine() -> None:
    assert load_settings().find == FindSettings()


def test_every_key_reaches_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[personal]\npreferred_roles = ["assistant"]\n'
        '[published]\nauthorities = ["www.Example.org = 0.9", "@Ana=1", "Ben Lee = .5"]\n'
    )
    profiles = load_settings(file).find.profiles
    assert profiles[Kind.PERSONAL].preferred_roles == ("assistant",)
    assert profiles[Kind.PUBLISHED].worths == {"example.org": 0.9, "ana": 1.0, "ben lee": 0.5}


@pytest.mark.parametrize("entry", ["example.org", "example.org = 2", "= 0.5", "a = -1", "a = 1.01"])
def test_what_is_no_authority_is_refused(tmp_path: Path, entry: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[published]\nauthorities = ["{entry}"]\n')
    assert named_worth(entry) is None
    with pytest.raises(SettingsError, match="must be a name and a number from 0 to 1"):
        load_settings(file)

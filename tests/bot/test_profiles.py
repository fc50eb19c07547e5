"""The settings of how finds are ranked reach the engine, and their defaults are the engine's."""

from pathlib import Path

import pytest

from bot.settings import load_settings
from engine.errors import SettingsError
from engine.settings.searching import FindSettings, named_worth


def test_the_defaults_are_those_of_the_engine() -> None:
    assert load_settings().find == FindSettings()


def test_every_key_reaches_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        "[personal]\nlexical = 0.5\nrecency = 0.4\nrole = 0.3\nthread = 0.2\ndecay_days = 7\n"
        "[social]\nlexical = 0.9\nrecency = 0.8\nengagement = 0.7\nhashtags = 0.6\n"
        "decay_days = 8\n"
        "[published]\nlexical = 0.1\nauthority = 0.2\n"
        'authorities = ["www.Example.org = 0.9", "@Ana=1", "Ben Lee = .5"]\n'
    )
    find = load_settings(file).find
    personal, social, published = find.personal, find.social, find.published
    assert personal.weights == {"lexical": 0.5, "recency": 0.4, "role": 0.3, "thread": 0.2}
    assert personal.decay_days == 7
    assert social.weights == {
        "lexical": 0.9, "recency": 0.8, "engagement": 0.7, "hashtags": 0.6,
    }  # fmt: skip
    assert social.decay_days == 8
    assert published.weights == {"lexical": 0.1, "authority": 0.2}
    assert published.worths == {"example.org": 0.9, "ana": 1.0, "ben lee": 0.5}


@pytest.mark.parametrize("entry", ["example.org", "example.org = 2", "= 0.5", "a = -1", "a = 1.01"])
def test_what_is_no_authority_is_refused(tmp_path: Path, entry: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[published]\nauthorities = ["{entry}"]\n')
    assert named_worth(entry) is None
    with pytest.raises(SettingsError, match="must be a name and a number from 0 to 1"):
        load_settings(file)

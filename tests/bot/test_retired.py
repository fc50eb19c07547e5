"""What is gone is refused with one sentence that names its replacement."""

from pathlib import Path

import pytest

from bot.cli.main import COMMANDS, RETIRED_COMMANDS
from bot.settings import load_settings
from bot.settings.sources import RETIRED_SETTINGS, explain_retired_setting, section_fields
from engine.errors import SettingsError
from tests.bot.conftest import Invoke


@pytest.mark.parametrize("command", RETIRED_COMMANDS)
@pytest.mark.usefixtures("unreachable")
def test_retired_command_is_refused_with_its_replacement(invoke: Invoke, command: str) -> None:
    explanation = f"presagio {command} is gone. {RETIRED_COMMANDS[command]}"
    for arguments in ([], ["--help"], ["list", "--json"]):
        assert invoke(*command.split(), *arguments).complaint(2) == explanation


def test_help_lists_no_retired_command() -> None:
    assert not RETIRED_COMMANDS.keys() & {entry.name for entry in COMMANDS}


@pytest.mark.parametrize("name", RETIRED_SETTINGS)
def test_retired_setting_in_a_file_is_refused_with_its_replacement(
    tmp_path: Path, name: str
) -> None:
    section, _, key = name.partition(".")
    path = tmp_path / "config.toml"
    path.write_text(f"[{section}]\n{key or 'any'} = 1\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ={})
    assert f" is gone. {RETIRED_SETTINGS[name]}" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", RETIRED_SETTINGS)
def test_retired_setting_in_the_environment_is_refused_with_its_replacement(name: str) -> None:
    section, _, key = name.partition(".")
    variable = f"PRESAGIO_{section}__{key or 'any'}".upper()
    with pytest.raises(SettingsError, match=f"{variable} is gone"):
        load_settings(None, environ={variable: "1"})


def test_no_setting_that_exists_is_explained_as_retired() -> None:
    assert not [
        f"{section}.{key}"
        for section, key, _ in section_fields()
        if explain_retired_setting(section, key)
    ]

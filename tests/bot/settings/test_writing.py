"""What is written changes one thing and keeps the rest; a shell reads the secrets as we do."""

import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.settings import load_settings
from bot.settings.sources import read_variables, variables_in
from bot.settings.writing import with_setting, with_variable, write_whole
from engine.errors import SettingsError

OWN = """\
# mine
[llm]
# the model
model = "a/b"   # good
retries = 5

[chat]
admins = ["telegram:42"]
"""


def test_with_setting_changes_one_key_and_keeps_other_lines() -> None:
    changed = with_setting(OWN, "llm", "model", 'x"y')
    assert tomllib.loads(changed)["llm"] == {"model": 'x"y', "retries": 5}
    assert [line for line in changed.splitlines() if "model =" not in line] == [
        line for line in OWN.splitlines() if "model =" not in line
    ]


def test_a_new_key_and_a_new_section_are_added() -> None:
    changed = with_setting(
        with_setting(OWN, "llm", "base_url", "http://x"), "slack", "api_base", "y"
    )
    assert tomllib.loads(changed) == {
        "llm": {"model": "a/b", "retries": 5, "base_url": "http://x"},
        "chat": {"admins": ["telegram:42"]},
        "slack": {"api_base": "y"},
    }
    assert tomllib.loads(with_setting("", "chat", "access", "open")) == {"chat": {"access": "open"}}


def test_with_setting_is_idempotent() -> None:
    once = with_setting(OWN, "chat", "access", "open")
    assert with_setting(once, "chat", "access", "open") == once


@pytest.mark.parametrize("text", ["chat.access = 'x'\n", "[chat]\naccess = '''\nx\n'''\n", "[chat"])
def test_unsupported_toml_syntax_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="cannot be changed"):
        with_setting(text, "chat", "access", "open")


VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="'\\"))


@given(VALUES, VALUES)
def test_variables_come_back_as_they_were_written(first: str, second: str) -> None:
    text = with_variable(with_variable("# kept\nOTHER=1\n", "ONE", first), "TWO", second)
    assert variables_in(text) == {"OTHER": "1", "ONE": first, "TWO": second}
    assert variables_in(with_variable(text, "ONE", second))["ONE"] == second
    assert text.startswith("# kept\nOTHER=1\n")


@pytest.mark.parametrize("value", ["xoxb-1-2", "postgresql://u:p@h/d?a=b&c=d", "a b;$HOME `id`"])
def test_shell_reads_the_variable_file_with_the_same_values(value: str) -> None:
    script = with_variable("", "SECRET", value) + 'printf %s "$SECRET"'
    assert subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout == (
        value.encode()
    )


@pytest.mark.parametrize("value", ["a'b", "a\nb", "a\\b", "a\x00b"])
def test_a_value_that_would_be_read_differently_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="SECRET holds"):
        with_variable("", "SECRET", value)


def test_settings_take_secrets_from_the_file_beside_them(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    write_whole(config, "", mode=0o644)
    secrets = tmp_path / "presagio.env"
    write_whole(secrets, "TELEGRAM_BOT_TOKEN=1:file\nSLACK_BOT_TOKEN=xoxb\n", mode=0o600)
    assert secrets.stat().st_mode & 0o777 == 0o600
    settings = load_settings(config, environ={"TELEGRAM_BOT_TOKEN": "1:environment"})
    assert settings.secrets.slack_bot_token
    assert settings.secrets.telegram_bot_token
    assert settings.secrets.telegram_bot_token.get_secret_value() == "1:environment"


def test_secrets_that_others_may_read_are_refused(tmp_path: Path) -> None:
    config, secrets = tmp_path / "config.toml", tmp_path / "presagio.env"
    assert read_variables(config) == read_variables(None) == {}
    secrets.write_text("A=1\n")
    secrets.chmod(0o644)
    with pytest.raises(SettingsError, match="others may read"):
        read_variables(config)

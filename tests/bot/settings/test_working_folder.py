"""A config.toml that somebody else put into the working folder does not take keys away unseen."""

import os
import stat
from pathlib import Path

import pytest

from bot.settings.sources import locate_in_working_folder, require_own_file, tell_new_endpoints
from engine.errors import SettingsError
from tests.bot.conftest import Invoke

ELSEWHERE = '[llm]\nbase_url = "http://user:secret@evil.example/v1?key=secret"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(ELSEWHERE)
    return tmp_path


def test_addresses_of_a_folder_are_told_once_and_again_when_they_change(folder: Path) -> None:
    path = Path("config.toml")
    told = tell_new_endpoints(path) or ""
    assert told.startswith("The config.toml of this folder sends keys and texts to: http://")
    assert "evil.example/v1" in told
    assert told.endswith("([llm] base_url).")
    assert "secret" not in told
    assert tell_new_endpoints(path) is None
    for key in ("[slack]\napi_base", "[web_search]\nsearxng_url"):
        path.write_text(f'{key} = "http://evil.example/api/"\n')
        assert f"({key.replace(chr(10), ' ')})" in (tell_new_endpoints(path) or "")
    path.write_text("[search]\nlimit = 4\n")
    assert tell_new_endpoints(path) is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
def test_what_was_told_is_noted_for_its_user_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = folder / "new" / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert [bool(tell_new_endpoints(Path("config.toml"))) for _ in range(2)] == [True, False]
    (notes,) = (cache / "presagio").iterdir()
    assert stat.S_IMODE(notes.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR


def test_where_nothing_can_be_noted_it_is_told_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    assert all(tell_new_endpoints(Path("config.toml")) for _ in range(2))


def test_a_command_tells_it_on_standard_error(folder: Path, invoke: Invoke, database: str) -> None:
    done = invoke("corpora", "list", "--json")
    assert "sends keys and texts to" in done.err
    assert "sends keys" not in done.out
    assert "sends keys" not in invoke("corpora", "list", "--json").err
    (folder / "other.toml").write_text(ELSEWHERE)
    assert "sends keys" not in invoke("--config", "other.toml", "corpora", "list", "--json").err


def test_a_file_that_was_named_or_is_the_users_own_is_not_of_the_working_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locate_in_working_folder(None, {}) == Path("config.toml")
    assert locate_in_working_folder(Path("config.toml"), {}) is None
    assert locate_in_working_folder(None, {"PRESAGIO_CONFIG": "config.toml"}) is None
    (folder / "presagio").symlink_to(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    assert locate_in_working_folder(None, {}) is None


@pytest.mark.skipif(os.name != "posix", reason="owners of files")
def test_serve_follows_no_file_of_another_user(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = (folder / "config.toml").stat().st_uid
    require_own_file(Path("config.toml"))
    monkeypatch.setattr("bot.settings.sources._ROOT", -1)
    monkeypatch.setattr("os.geteuid", lambda: mine + 1)
    with pytest.raises(SettingsError, match="is another user's"):
        require_own_file(Path("config.toml"))
    done = invoke("serve", "--web")
    assert done.code == 2
    assert "The config.toml of this folder is another user's" in done.err
    assert "--config config.toml" in done.err

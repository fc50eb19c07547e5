"""`presagio config`: what is set where, without a secret, and a first file that sets nothing."""

from pathlib import Path

import pytest

from bot.settings import load_settings
from tests.bot.conftest import Invoke
from tests.bot.forking import forked

PASSWORD, KEY = "hunter2-secret", "sk-or-v1-0123456789-secret"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration file of this machine, and no database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PRESAGIO_DATA_DIR", str(tmp_path / "data"))
    for name in ("DATABASE_URL", "PRESAGIO_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A file with settings, and secrets beside it."""
    path = tmp_path / "config.toml"
    path.write_text(
        "[llm]\n"
        'model = "of/file"\n'
        "retries = 5\n"
        "[telegram]\n"
        f'webhook_url = "https://bot.example.org/{KEY}"\n'
        "[[feeds]]\n"
        f'url = "https://me:{PASSWORD}@example.org/feed?token={KEY}"\n'
        'category = "news"\n'
    )
    secrets = tmp_path / "presagio.env"
    secrets.write_text(f"OPENROUTER_API_KEY={KEY}\nPRESAGIO_SEARCH__LIMIT=7\n")
    secrets.chmod(0o600)
    return path


class TestShow:
    def test_each_value_is_shown_with_its_source(
        self, invoke: Invoke, config: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PRESAGIO_LLM__MODEL", "of/environment")
        monkeypatch.setenv("SLACK_BOT_TOKEN", KEY)
        rows = invoke("config", "show", "--json").json_lines
        assert all(list(row) == ["section", "key", "value", "source"] for row in rows)
        found = {(row["section"], row["key"]): (row["value"], row["source"]) for row in rows}
        assert len(found) == len(rows)
        assert found["llm", "model"] == ("of/environment", "PRESAGIO_LLM__MODEL")
        assert found["llm", "retries"] == (5, "config.toml")
        assert found["search", "limit"] == (7, "PRESAGIO_SEARCH__LIMIT in presagio.env")
        assert found["web", "port"] == (8080, "default")
        assert found["secrets", "OPENROUTER_API_KEY"][1] == "OPENROUTER_API_KEY in presagio.env"
        assert found["secrets", "SLACK_BOT_TOKEN"] == ("****", "SLACK_BOT_TOKEN")
        assert found["secrets", "TELEGRAM_BOT_TOKEN"] == ("", "not set")
        assert found["", "data_dir"][1] == "PRESAGIO_DATA_DIR"

    def test_changed_option_shows_only_changed_values(self, invoke: Invoke, config: Path) -> None:
        out = invoke("config", "show", "--changed").out
        sources = {line.partition("  # ")[2] for line in out.splitlines() if "  # " in line}
        assert "default" not in sources
        assert 'model = "of/file"' in out
        assert "port" not in out

    def test_only_one_section(self, invoke: Invoke) -> None:
        out = invoke("config", "show", "llm").out
        assert out.startswith("[llm]\n")
        assert out.count("[llm]") == 1
        assert "[web]" not in out
        complaint = invoke("config", "show", "lm").complaint(2)
        assert complaint == "There is no section 'lm'. Did you mean llm?"

    @pytest.mark.parametrize(
        "url",
        [
            f"postgresql://me:{PASSWORD}@h/x",
            f"postgresql://me:{PASSWORD}/@h/x",
            f"postgresql://h/x?password={PASSWORD}",
        ],
    )
    def test_secrets_are_masked(
        self, invoke: Invoke, config: Path, monkeypatch: pytest.MonkeyPatch, url: str
    ) -> None:
        monkeypatch.setenv("DATABASE_URL", url)
        monkeypatch.setenv("WEB_API_KEYS", KEY)
        monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", f"https://me:{PASSWORD}@host/v1")
        for done in (invoke("config", "show"), invoke("config", "show", "--json")):
            assert done.code == 0
            assert PASSWORD not in done.out
            assert KEY not in done.out
            assert "https://bot.example.org/****" in done.out
            assert "https://example.org/feed?token=" in done.out


class TestPath:
    def test_path_of_the_loaded_file_is_printed(self, invoke: Invoke, config: Path) -> None:
        assert invoke("config", "path").out == f"{config}\n"

    def test_path_fails_if_no_file_is_loaded(self, invoke: Invoke) -> None:
        complaint = invoke("config", "path").complaint(2)
        assert complaint.startswith("No configuration file is read. Write ")
        assert "home/presagio/config.toml with: presagio config init" in complaint


class TestInit:
    def test_init_writes_every_key_commented_out(self, invoke: Invoke, tmp_path: Path) -> None:
        file = tmp_path / "new" / "config.toml"
        assert invoke("config", "init", str(file)).out == f"Wrote {file}\n"
        assert load_settings(file, environ={}) == load_settings(None, environ={}).model_copy(
            update={"config_file": file}
        )
        rows = invoke("--config", str(file), "config", "show", "--json").json_lines
        text = file.read_text()
        for row in rows:
            if row["section"] not in ("", "secrets"):
                assert f"\n#{row['key']} = " in text

    def test_the_account_that_serves_can_read_what_root_wrote(self, tmp_path: Path) -> None:
        file = tmp_path / "etc" / "presagio" / "config.toml"
        assert forked("config", "init", str(file)).code == 0
        modes = [each.stat().st_mode & 0o777 for each in (file, file.parent, file.parent.parent)]
        assert modes == [0o644, 0o755, 0o755]

    def test_init_refuses_to_overwrite_an_existing_file(self, invoke: Invoke, config: Path) -> None:
        before = config.read_text()
        assert "is there already" in invoke("config", "init", str(config)).complaint(2)
        assert config.read_text() == before

    def test_init_writes_to_the_default_or_configured_location(
        self, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usual = tmp_path / "home" / "presagio" / "config.toml"
        assert invoke("config", "init").out == f"Wrote {usual}\n"
        assert invoke("config", "path").out == f"{usual}\n"
        monkeypatch.setenv("PRESAGIO_CONFIG", str(tmp_path / "b.toml"))
        assert invoke("config", "init").code == 0
        assert (tmp_path / "b.toml").exists()
        assert invoke("--config", "c.toml", "config", "init").code == 0
        assert (tmp_path / "c.toml").exists()

    def test_init_names_an_unwritable_path(self, invoke: Invoke) -> None:
        complaint = invoke("config", "init", "/proc/none/config.toml").complaint(2)
        assert "/proc/none/config.toml cannot be written: " in complaint

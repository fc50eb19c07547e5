"""Settings come from the right place, and every mistake is one line that tells place and fix."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.settings import Settings, load_settings
from bot.settings.model import Sections
from engine.errors import SettingsError

Write = Callable[[str], Path]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder and with an empty home."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    return work


@pytest.fixture
def write(folder: Path) -> Write:
    def write_here(text: str) -> Path:
        path = folder / "config.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_here


def load(config: Path | None = None, /, **environ: str) -> Settings:
    return load_settings(config, environ=environ)


def message_of(config: Path | None = None, /, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(config, **environ)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_without_a_file_the_defaults_hold() -> None:
    settings = load()
    assert settings.search.limit == 3
    assert settings.llm.model == "openai/gpt-5-mini"
    assert settings.config_file is None
    assert settings.database.url.get_secret_value() == ""


def test_the_file_of_the_working_folder_is_read(write: Write) -> None:
    write("[search]\nlimit = 5\n")
    settings = load()
    assert settings.search.limit == 5
    assert settings.config_file == Path("config.toml")


def test_the_file_is_looked_for_in_order(tmp_path: Path, write: Write) -> None:
    users = tmp_path / "home" / "config" / "presagio" / "config.toml"
    users.parent.mkdir(parents=True)
    users.write_text("[search]\nlimit = 4\n")
    named, asked = tmp_path / "named.toml", tmp_path / "asked.toml"
    named.write_text("[search]\nlimit = 6\n")
    asked.write_text("[search]\nlimit = 7\n")

    assert load().search.limit == 4
    write("[search]\nlimit = 5\n")
    assert load().search.limit == 5
    assert load(PRESAGIO_CONFIG="").search.limit == 5
    assert load(PRESAGIO_CONFIG=str(named)).search.limit == 6
    assert load(asked, PRESAGIO_CONFIG=str(named)).search.limit == 7


def test_a_file_with_a_byte_order_mark_is_read(folder: Path) -> None:
    (folder / "config.toml").write_bytes(b"\xef\xbb\xbf[search]\nlimit = 5\n")
    assert load().search.limit == 5


def test_a_home_that_cannot_be_looked_into_has_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A name too long for the system fails for root too, unlike a folder without rights.
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ("x" * 300)))
    assert load().config_file is None


@pytest.mark.parametrize(
    ("variable", "text", "section", "key", "expected"),
    [
        ("PRESAGIO_SEARCH__LIMIT", "7", "search", "limit", 7),
        ("PRESAGIO_SCORE__AGE", "0.5", "score", "age", 0.5),
        ("PRESAGIO_SCORE__AGE", "1", "score", "age", 1.0),
        ("PRESAGIO_LLM__MODEL", "7", "llm", "model", "7"),
        ("PRESAGIO_LLM__MODEL", 'a"b', "llm", "model", 'a"b'),
        ("PRESAGIO_LLM__DAILY_TOKENS", "-1", "llm", "daily_tokens", -1),
        ("PRESAGIO_LLM__FALLBACK_MODELS", '["a", "b"]', "llm", "fallback_models", ("a", "b")),
        ("PRESAGIO_LLM__REASONING_EFFORT", "", "llm", "reasoning_effort", ""),
    ],
)
def test_the_environment_goes_before_the_file(
    write: Write, variable: str, text: str, section: str, key: str, expected: object
) -> None:
    write('[search]\nlimit = 5\n[score]\nage = 0.2\n[llm]\nmodel = "file/model"\n')
    value = getattr(getattr(load(**{variable: text}), section), key)
    assert value == expected
    assert type(value) is type(expected)


def test_an_override_leaves_the_other_keys_of_its_section(write: Write) -> None:
    write("[search]\nlimit = 5\nminimum_judgment = 2\n")
    search = load(PRESAGIO_SEARCH__LIMIT="7").search
    assert (search.limit, search.minimum_judgment) == (7, 2)


def test_database_url_goes_before_everything_else(write: Write) -> None:
    write('[database]\nurl = "postgresql://file/x"\n')
    both = {
        "DATABASE_URL": "postgresql://plain/x",
        "PRESAGIO_DATABASE__URL": "postgresql://prefixed/x",
    }
    assert load().database.url.get_secret_value() == "postgresql://file/x"
    prefixed = load(PRESAGIO_DATABASE__URL=both["PRESAGIO_DATABASE__URL"])
    assert prefixed.database.url.get_secret_value() == "postgresql://prefixed/x"
    assert load(**both).database.url.get_secret_value() == "postgresql://plain/x"


def test_the_data_folder_is_absolute(tmp_path: Path) -> None:
    assert load(PRESAGIO_DATA_DIR="here").data_dir == tmp_path / "work" / "here"
    assert load().data_dir == tmp_path / "home" / "data" / "presagio"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/var/lib is Linux's")
def test_data_folder_of_root_is_under_var_lib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME")
    own = tmp_path / ".local" / "share" / "presagio"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert load().data_dir == own
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert load().data_dir == Path("/var/lib/presagio")
    (own / "postgres").mkdir(parents=True)  # of an older version
    assert load().data_dir == own


def test_secrets_come_from_the_environment_without_the_newline_of_a_file() -> None:
    secrets = load(OPENROUTER_API_KEY="sk-or-1\n", SLACK_BOT_TOKEN="").secrets
    assert secrets.openrouter_api_key is not None
    assert secrets.openrouter_api_key.get_secret_value() == "sk-or-1"
    assert secrets.slack_bot_token is None


def test_no_secret_is_shown() -> None:
    settings = load(
        OPENROUTER_API_KEY="hidden-1",
        TELEGRAM_BOT_TOKEN="hidden-2",
        SLACK_BOT_TOKEN="hidden-3",
        SLACK_APP_TOKEN="hidden-4",
        SLACK_SIGNING_SECRET="hidden-5",
        WEB_API_KEYS="hidden-6",
        WEB_ADMIN_KEYS="hidden-8",
        DATABASE_URL="postgresql://me:hidden-7@host/x",
    )
    shown = repr(settings) + str(settings) + settings.model_dump_json()
    assert shown.count("hidden") == 0
    assert shown.count("*****") >= 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[llm]\nmodle = "x"', '[llm] has no key "modle". Did you mean model?'),
        ('[lmm]\nmodel = "x"', 'there is no section "lmm". Did you mean llm?'),
        (
            'model = "x"',
            'there is no section "model".'
            " Did you mean [llm] model or [embeddings] model or [rerank] model?",
        ),
        (
            'zzz = "x"',
            f'there is no section "zzz". There are: {", ".join(Sections.model_fields)}.',
        ),
        ("[logging]\nzzz = 1", '[logging] has no key "zzz". There are: level.'),
        ('[logging]\n"z\\nz" = 1', '[logging] has no key "z\\nz". There are: level.'),
        ("llm = 3", "llm must be a section. Write [llm] on a line of its own and its keys below."),
        (
            "[score]\njudgment = 0\nlexical = 0\nage = 0",
            "[score] needs a weight above 0 in judgment or lexical.",
        ),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_fix(
    write: Write, text: str, expected: str
) -> None:
    write(f"{text}\n")
    assert message_of() == f"config.toml: {expected}"


@pytest.mark.parametrize(
    ("section", "key", "value", "said", "default"),
    [
        ("search", "limit", '"three"', 'be a whole number, not "three"', "3"),
        ("search", "limit", '"3"', 'be a whole number, not "3"', "3"),
        ("search", "limit", "true", 'be a whole number, not "True"', "3"),
        ("search", "limit", "0", 'be greater than or equal to 1, not "0"', "3"),
        ("search", "minimum_lexical", "1.5", 'be less than or equal to 1, not "1.5"', "0.25"),
        ("score", "age", "nan", 'be a finite number, not "nan"', "0.1"),
        ("score", "age", "inf", 'be a finite number, not "inf"', "0.1"),
        ("llm", "daily_usd", "-0.5", 'be 0 or more, or -1 for no limit, not "-0.5"', "1.0"),
        ("llm", "daily_tokens", "-2", 'be greater than or equal to -1, not "-2"', "2000000"),
        ("llm", "model", "3", 'be text in "quotes", not "3"', '"openai/gpt-5-mini"'),
        ("llm", "model", '""', 'not be empty, not ""', '"openai/gpt-5-mini"'),
        (
            *("llm", "base_url", '"me:hidden@openrouter.ai"'),
            *('begin with "http://" or "https://"', '"https://openrouter.ai/api/v1"'),
        ),
        ("llm", "fallback_models", '"a"', 'be a list in [brackets], not "a"', "[]"),
        ("llm", "fallback_models", "[1]", '.0 be text in "quotes", not "1"', "[]"),
        (
            *("fetch", "allow_networks", '["10.0.0.0/8", "10.0.0.1/8"]'),
            *('.1 be a network like "10.1.0.0/16", not "10.0.0.1/8"', "[]"),
        ),
        ("fetch", "user_agent_contact", '"ñ"', 'be printable ASCII, not "ñ"', '""'),
        (
            *("logging", "level", '"loud"'),
            *("be 'debug', 'info', 'warning' or 'error', not \"loud\"", '"warning"'),
        ),
        (
            *("database", "url", '"mysql://me:hidden@host/x"'),
            *('begin with "postgresql://", or be empty for the embedded server', '""'),
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_it_must_be_and_the_default(
    write: Write, section: str, key: str, value: str, said: str, default: str
) -> None:
    write(f"[{section}]\n{key} = {value}\n")
    if said.startswith("."):  # an item of a list
        item, _, said = said.partition(" ")
        key += item
    assert message_of() == (
        f"config.toml: [{section}] {key} must {said}. The default is {default}."
    )


def test_a_mistake_in_the_file_is_not_blamed_on_a_variable_of_the_section(write: Write) -> None:
    write("llm = 3\n")
    assert message_of(PRESAGIO_LLM__MODEL="x").startswith("config.toml: llm must be a section.")


@pytest.mark.parametrize(
    ("variable", "advice"),
    [
        ("PRESAGIO_LMM__MODEL", "Did you mean PRESAGIO_LLM__MODEL?"),
        ("PRESAGIO_LLM__MODLE", "Did you mean PRESAGIO_LLM__MODEL?"),
        ("PRESAGIO_LLM_MODEL", "Did you mean PRESAGIO_LLM__MODEL?"),
        ("PRESAGIO_LLM__API_KEY", "Set OPENROUTER_API_KEY instead."),
        ("PRESAGIO_OPENROUTER_API_KEY", "Set OPENROUTER_API_KEY instead."),
        (
            "PRESAGIO_QQQQQQQQQQQQQQ",
            "Names are PRESAGIO_<SECTION>__<KEY>; presagio config show lists them.",
        ),
    ],
)
def test_a_variable_that_is_no_setting_is_named_with_its_fix(variable: str, advice: str) -> None:
    expected = f"The environment variable {variable} is no setting. {advice}"
    assert message_of(**{variable: "hidden"}) == expected


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("PRESAGIO_SEARCH__LIMIT", "three", 'be a whole number, not "three". The default is 3.'),
        ("PRESAGIO_SEARCH__LIMIT", "3\nk1 = 9", 'be a whole number, not "3\\nk1 = 9".'),
        ("PRESAGIO_LLM__FALLBACK_MODELS", "a,b", 'be a list in [brackets], not "a,b".'),
        ("DATABASE_URL", "mysql://me:hidden@host/x", 'begin with "postgresql://", or be empty'),
    ],
)
def test_a_wrong_value_in_the_environment_is_named_with_its_fix(
    variable: str, text: str, said: str
) -> None:
    message = message_of(**{variable: text})
    assert message.startswith(f"{variable} must {said}")
    assert "hidden" not in message


def test_a_section_that_a_variable_spoils_is_blamed_on_the_variable(write: Write) -> None:
    write("[score]\njudgment = 0\n")
    assert message_of(PRESAGIO_SCORE__LEXICAL="0") == (
        "PRESAGIO_SCORE__LEXICAL needs a weight above 0 in judgment or lexical."
    )


def test_known_names_beside_the_sections_are_left_alone() -> None:
    assert load(PRESAGIO_TEST_DATABASE_URL="x", PRESAGIOUS="x", HOME="x") == load()


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ('OPENROUTER_API_KEY = "hidden"', "OPENROUTER_API_KEY"),
        ('[llm]\napi_key = "hidden"', "OPENROUTER_API_KEY"),
        ('[llm]\nopenrouter_api_key = "hidden"', "OPENROUTER_API_KEY"),
        ('[telegram]\nbot_token = "hidden"', "TELEGRAM_BOT_TOKEN"),
        ('[telegram]\ntoken = "hidden"', "TELEGRAM_BOT_TOKEN"),
        ('[slack]\nsigning_secret = "hidden"', "SLACK_SIGNING_SECRET"),
        ('[secrets]\nslack_app_token = "hidden"', "SLACK_APP_TOKEN"),
        ('[[slack]]\nbot_token = "hidden"', "SLACK_BOT_TOKEN"),
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(
    write: Write, text: str, variable: str
) -> None:
    write(text)
    message = message_of()
    assert "is a secret and does not belong in a file" in message
    assert message.endswith(f"set the environment variable {variable}.")
    assert "hidden" not in message


def test_invalid_toml_names_the_line(write: Write) -> None:
    write("[search]\nlimit 5\n")
    message = message_of()
    assert message.startswith("config.toml is not valid TOML: ")
    assert "line 2" in message


def test_a_file_in_another_encoding_is_refused(folder: Path) -> None:
    (folder / "config.toml").write_bytes(b"[search]\ncorpus = 'a\xf1os'\n")
    assert message_of() == "config.toml is not UTF-8. Save it as UTF-8."


def test_a_folder_instead_of_a_file_is_refused(folder: Path) -> None:
    (folder / "config.toml").mkdir()
    assert message_of().startswith("config.toml cannot be read: is a directory.")


def test_a_file_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    fix = "cannot be read: no such file or directory."
    absent = tmp_path / "absent.toml"
    assert message_of(absent).startswith(f"{absent} {fix}")
    assert message_of(PRESAGIO_CONFIG=str(absent)).startswith(f"{absent} {fix}")


def test_the_error_does_not_carry_the_values_along(write: Write) -> None:
    write('[database]\nurl = "mysql://me:hidden@host/x"\n')
    with pytest.raises(SettingsError) as caught:
        load()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_feeds_are_a_list_of_tables(write: Write) -> None:
    write(
        '[[feeds]]\nurl = "https://a.example/1"\n'
        '[[feeds]]\nurl = "http://b.example/2"\ncategory = "tech"\n'
    )
    assert [(feed.url, feed.category) for feed in load().feeds] == [
        ("https://a.example/1", ""),
        ("http://b.example/2", "tech"),
    ]


FEED = '[[feeds]]\nurl = "https://a.example"'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('feeds = "https://a.example"', "config.toml: feeds must be a list of tables."),
        ('[[feeds]]\ncategory = "x"', "config.toml: [[feeds]] number 1: needs a url."),
        ('feeds = ["https://a.example"]', "config.toml: feeds must be a list of tables."),
        (f'{FEED}\n[[feeds]]\nurl = "file:///x"', 'number 2: url must begin with "http://" or'),
        (f'{FEED}\ncatgory = "x"', '[[feeds]] number 1: has no key "catgory".'),
        (f"{FEED}\ncategory = 3", 'number 1: category must be text in "quotes", not "3".'),
    ],
)
def test_a_mistake_in_a_feed_says_which_one(write: Write, text: str, said: str) -> None:
    write(text)
    assert said in message_of()

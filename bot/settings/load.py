"""Merges and validates the sources. An error becomes one line with its place and a fix."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bot.settings.model import Sections, Settings, masked_url
from bot.settings.sources import (
    DATA_DIR_VARIABLE,
    ENVIRONMENT_FILE,
    Override,
    did_you_mean,
    escaped_line,
    explain_retired_setting,
    locate_file,
    read_environment,
    read_file,
    read_secrets,
    read_variables,
    section_fields,
    write_dotted,
)
from engine.errors import SettingsError
from engine.text.address import public_address

_WANTED = {
    "bool_type": "must be true or false",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "string_too_short": "must not be empty",
    "string_type": 'must be text in "quotes"',
    "tuple_type": "must be a list in [brackets]",
}
SYSTEM_DATA_DIR = Path("/var/lib/presagio")
_NO_FIELD = FieldInfo()
DEFAULT, UNSET = "default", "not set"
SECRETS = "secrets"
_MASK = "****"
_PRIVATE_PATHS = ("webhook_url",)  # whoever knows the path can push updates


def load_settings(
    config: Path | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings: defaults, overridden by the file, overridden by the environment.

    `config` is the file named on the command line; `environ` defaults to that of the process, and
    goes before the variables of presagio.env beside the file. Raises SettingsError.
    """
    environ = os.environ if environ is None else environ
    path = locate_file(config, environ)
    written = read_file(path) if path else {}
    environ = {**read_variables(path), **environ}
    overrides = read_environment(environ)
    tables = dict(written)
    for override in overrides:
        table = tables.get(override.section, {})
        if isinstance(table, dict):
            tables[override.section] = {**table, override.key: override.value}
    try:
        # Not by pydantic-settings: it ignores misspelt names of variables, passes limit = "3", and
        # its errors do not tell a value of the file from one of a variable.
        sections = Sections.model_validate(tables, strict=True)
    except ValidationError as exc:
        # Not "from exc": it holds the values, and one of them may be a password.
        raise _explain_error(exc.errors(include_url=False)[0], path, overrides) from None
    return Settings(
        **dict(sections),
        secrets=read_secrets(environ),
        data_dir=_data_dir(environ),
        config_file=path,
    )


def _data_dir(environ: Mapping[str, str]) -> Path:
    if named := environ.get(DATA_DIR_VARIABLE):
        return Path(named).expanduser().absolute()
    from platformdirs import user_data_path  # noqa: PLC0415 - 5 ms that the variable saves

    own = user_data_path("presagio")
    # For root, the database server runs under another account, which cannot enter root's home.
    of_root = sys.platform.startswith("linux") and os.geteuid() == 0
    is_chosen = "XDG_DATA_HOME" in os.environ or (own / "postgres").exists()
    return SYSTEM_DATA_DIR if of_root and not is_chosen else own


def _explain_error(
    error: ErrorDetails, path: Path | None, overrides: Sequence[Override]
) -> SettingsError:
    if isinstance(Sections.model_fields.get(str(error["loc"][0]), _NO_FIELD).default, tuple):
        return _explained_list(error, path)
    keys = tuple(str(step) for step in error["loc"])
    if error["type"] == "extra_forbidden":
        return _unknown_key(keys, path)
    if error["type"] == "model_type":
        return SettingsError(
            f"{_format_file(path)}: {keys[0]} must be a section.",
            fix=f"Write [{keys[0]}] on a line of its own and its keys below.",
        )
    fix = None
    if len(keys) > 1:
        from bot.settings.writing import toml_value  # noqa: PLC0415 - only errors quote a default

        default = getattr(Sections.model_fields[keys[0]].get_default(), keys[1])
        fix = f"The default is {toml_value(default)}."
    place = _find_place(keys, path, overrides)
    return SettingsError(f"{place} {_describe_problem(error)}.", fix=fix)


def _explained_list(error: ErrorDetails, path: Path | None) -> SettingsError:
    """Explain an error in a list of tables. Only the file has such lists; tables count from 1."""
    name, *inside = error["loc"]
    if len(inside) < 2:
        return SettingsError(
            f"{_format_file(path)}: {name} must be a list of tables.",
            fix=f"Write [[{name}]] above each of them.",
        )
    number, key = int(inside[0]) + 1, escaped_line(inside[1])
    problem = {"extra_forbidden": f'has no key "{key}"', "missing": f"needs a {key}"}.get(
        error["type"], f"{key} {_describe_problem(error)}"
    )
    return SettingsError(
        f"{_format_file(path)}: [[{name}]] number {number}: {problem}.",
        fix="presagio config init writes an example.",
    )


def _unknown_key(keys: tuple[str, ...], path: Path | None) -> SettingsError:
    # It can only be in the file: unknown variables have been rejected before.
    *above, key = keys
    if explanation := explain_retired_setting(*keys[:2]):
        return SettingsError(
            f"{_format_file(path)}: {write_dotted(keys)} is gone. {explanation}", fix="Remove it."
        )
    section = type(Sections.model_fields[above[0]].get_default()) if above else Sections
    known = list(section.model_fields)
    what = f"[{above[0]}] has no key" if above else "there is no section"
    elsewhere = [write_dotted((table, name)) for table, name, _ in section_fields() if name == key]
    in_others = f"Did you mean {' or '.join(elsewhere)}?" if elsewhere else None
    return SettingsError(
        f'{_format_file(path)}: {what} "{escaped_line(key)}".',
        fix=did_you_mean(key, known) or in_others or f"There are: {', '.join(known)}.",
    )


def _find_place(keys: tuple[str, ...], path: Path | None, overrides: Sequence[Override]) -> str:
    """Return the variables that set the wrong value, else the file and the key."""
    variables = [o.variable for o in overrides if (o.section, o.key)[: len(keys)] == keys[:2]]
    if variables:
        return ", ".join(variables[-1:] if len(keys) > 1 else variables)
    return f"{_format_file(path)}: {write_dotted(keys) if len(keys) > 1 else f'[{keys[0]}]'}"


def _format_file(path: Path | None) -> str:
    return escaped_line(path) if path else "The settings"


def _describe_problem(error: ErrorDetails) -> str:
    """Say what a value must be. It is quoted unless it is a section or an address, which may hold
    a password."""
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    wanted = _WANTED.get(error["type"], message)
    if isinstance(error["input"], dict) or str(error["loc"][-1]).endswith("url"):
        return wanted
    return f'{wanted}, not "{escaped_line(error["input"])[:60]}"'


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """One setting: its value, safe to show, and its source.

    The source is DEFAULT, UNSET for a secret that is not there, the path of the file, or the name
    of a variable.
    """

    section: str
    key: str
    value: object
    source: str


def settings_with_origins(config: Path | None) -> Iterator[SettingOrigin]:
    """Yield the data folder, every setting in the order of config.example.toml, and the secrets.

    `config` is that of load_settings. Raises SettingsError.
    """
    settings = load_settings(config)
    path, beside = settings.config_file, read_variables(settings.config_file)
    variables = {name: f"{name} in {ENVIRONMENT_FILE}" for name in beside}
    variables |= {name: name for name in os.environ}
    source = variables.get(DATA_DIR_VARIABLE, DEFAULT)
    yield SettingOrigin("", "data_dir", str(settings.data_dir), source)
    sources = {
        (section, key): str(path)
        for section, table in (read_file(path) if path else {}).items()
        if isinstance(table, dict)
        for key in table
    }
    for override in read_environment({**beside, **os.environ}):
        sources[override.section, override.key] = variables[override.variable]
    for section, key, _ in section_fields():
        value = _mask_value(key, getattr(getattr(settings, section), key))
        yield SettingOrigin(section, key, value, sources.get((section, key), DEFAULT))
    for number, feed in enumerate(settings.feeds, 1):
        for key, value in feed:
            yield SettingOrigin(f"feeds {number}", key, _mask_value(key, value), str(path))
    for name, secret in settings.secrets:
        source = variables[name.upper()] if secret else UNSET
        yield SettingOrigin(SECRETS, name.upper(), _MASK if secret else "", source)


def _mask_value(key: str, value: object) -> object:
    """Return a value without passwords and keys, which addresses may hold."""
    if isinstance(value, SecretStr):
        return masked_url(value.get_secret_value())
    if isinstance(value, tuple):
        return tuple(_mask_value(key, item) for item in value)
    if not isinstance(value, str) or "://" not in value:
        return value
    if key in _PRIVATE_PATHS:
        place = urlsplit(value)
        return f"{place.scheme}://{place.hostname}/{_MASK}"
    return public_address(value)

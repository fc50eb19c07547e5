"""Where each setting comes from, with what is secret masked."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.settings.database import masked_url
from bot.settings.load import load_settings
from bot.settings.model import Settings
from bot.settings.sources import (
    DATA_DIR_VARIABLE,
    Override,
    read_environment,
    read_file,
    section_fields,
)
from bot.settings.writing import ENVIRONMENT_FILE, read_variables
from engine.text.address import public_address

DEFAULT, UNSET = "default", "not set"
SECRETS = "secrets"
_MASK = "****"
_PRIVATE_PATHS = ("webhook_url",)  # whoever knows the path can push updates


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOrigin:
    """One setting: its value, safe to show, and its source.

    The source is DEFAULT, UNSET for a secret that is not there, the path of the file, or the name
    of a variable.
    """

    section: str
    key: str
    value: object
    source: str


def settings_with_origins(config: Path | None = None) -> list[SettingOrigin]:
    """Return the data folder, every setting in the order of config.example.toml, and the secrets.

    `config` is that of load_settings. Raises SettingsError.
    """
    environ = os.environ
    settings = load_settings(config)
    path = settings.config_file
    beside = read_variables(path)
    sources = _Sources(
        file=str(path),
        written=read_file(path) if path else {},
        overrides=tuple(read_environment({**beside, **environ})),
        variables={name: name for name in environ}
        | {name: f"{name} in {ENVIRONMENT_FILE}" for name in beside if name not in environ},
    )
    return [*_keys(settings, sources), *_feeds(settings, sources), *_secrets(settings, sources)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    file: str
    written: Mapping[str, object]
    overrides: tuple[Override, ...]
    variables: Mapping[str, str]  # how each is called in a source

    def of(self, section: str, key: str) -> str:
        for one in reversed(self.overrides):
            if (one.section, one.key) == (section, key):
                return self.variables[one.variable]
        table = self.written.get(section)
        return self.file if isinstance(table, dict) and key in table else DEFAULT


def _keys(settings: Settings, sources: _Sources) -> Iterator[SettingOrigin]:
    source = sources.variables.get(DATA_DIR_VARIABLE, DEFAULT)
    yield SettingOrigin(section="", key="data_dir", value=str(settings.data_dir), source=source)
    for section, key, _ in section_fields():
        value = _shown(key, getattr(getattr(settings, section), key))
        yield SettingOrigin(section=section, key=key, value=value, source=sources.of(section, key))


def _feeds(settings: Settings, sources: _Sources) -> Iterator[SettingOrigin]:
    for number, feed in enumerate(settings.feeds, 1):
        for key, value in feed:
            name = f"feeds {number}"
            yield SettingOrigin(
                section=name, key=key, value=_shown(key, value), source=sources.file
            )


def _secrets(settings: Settings, sources: _Sources) -> Iterator[SettingOrigin]:
    for name, secret in settings.secrets:
        variable = name.upper()
        source = sources.variables[variable] if secret else UNSET
        yield SettingOrigin(
            section=SECRETS, key=variable, value=_MASK if secret else "", source=source
        )


def _shown(key: str, value: object) -> object:
    """Return a value without passwords and keys, which addresses may hold."""
    if isinstance(value, SecretStr):
        return masked_url(value.get_secret_value())
    if isinstance(value, tuple):
        return tuple(_shown(key, one) for one in value)
    if not isinstance(value, str) or "://" not in value:
        return value
    if key in _PRIVATE_PATHS:
        place = urlsplit(value)
        return f"{place.scheme}://{place.hostname}/{_MASK}"
    return public_address(value)

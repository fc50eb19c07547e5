"""Reads settings from the file and the environment, without validating them."""

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import SecretStr

from bot.settings.model import Secrets, Sections
from engine.errors import SettingsError
from engine.settings import HttpUrl, Section
from engine.text.address import public_address

FILE_NAME = "config.toml"
PREFIX = "PRESAGIO_"
CONFIG_VARIABLE = "PRESAGIO_CONFIG"
DATA_DIR_VARIABLE = "PRESAGIO_DATA_DIR"
DATABASE_VARIABLE = "DATABASE_URL"
ENVIRONMENT_FILE = "presagio.env"
ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)")
_OTHER_VARIABLES = (CONFIG_VARIABLE, DATA_DIR_VARIABLE, "PRESAGIO_TEST_DATABASE_URL")
_SECRET_VARIABLES = tuple(name.upper() for name in Secrets.model_fields)
_SECRET_KEYS = {"LLM_API_KEY": "OPENROUTER_API_KEY", "TELEGRAM_TOKEN": "TELEGRAM_BOT_TOKEN"}
_ROOT = 0
_NOTES = "told-folders"
_LONGEST_NOTES = 100_000  # characters


_NO_WALL = "The page has no votes: it shows what was posted from feeds."
_INSTEAD_OF_WEBHOOKS = (
    "Programs read what was posted in /feed.json or /feed.xml of the page, and ask the API or MCP."
)
_ONE_URL = (
    "Name all servers in database.url, with target_session_attrs=read-write: the one that takes"
    " writes is used."
)
_FIXED_WEIGHTS = (
    "What find weighs for each kind of corpus is fixed, and docs/kinds.md has the table."
)
# Of older versions, by section, or by section and key: "web", "web.votes".
RETIRED_SETTINGS: Mapping[str, str] = {
    "database.replicas": _ONE_URL,
    "database.max_lag": _ONE_URL,
    "llm.reasons": "The model gives reasons for the texts that are shown, at most three.",
    "personal.decay_days": _FIXED_WEIGHTS,
    "personal.lexical": _FIXED_WEIGHTS,
    "personal.recency": _FIXED_WEIGHTS,
    "personal.role": _FIXED_WEIGHTS,
    "personal.thread": _FIXED_WEIGHTS,
    "posting.promising": "A story that no model judged needs a text that covers a third of it.",
    "published.authority": _FIXED_WEIGHTS,
    "published.lexical": _FIXED_WEIGHTS,
    "social": _FIXED_WEIGHTS,
    "web.votes": _NO_WALL,
    "web.wall": _NO_WALL,
    "web.wall_voters": _NO_WALL,
    "webhooks": _INSTEAD_OF_WEBHOOKS,
    "logging.format": "Lines are text with name=value, which collectors read as logfmt.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One key that an environment variable sets."""

    section: str
    key: str
    value: object
    variable: str


def locate_file(explicit: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the file to read: the requested one, the working folder's or the user's.

    A requested file is returned even if it does not exist.
    """
    if explicit is not None:
        return explicit
    if named := environ.get(CONFIG_VARIABLE):
        return Path(named).expanduser()
    here = Path(FILE_NAME)
    if _exists(here):
        return here
    there = usual_place()
    return there if _exists(there) else None


def usual_place() -> Path:
    """Return the path of config.toml in the user's configuration folder."""
    from platformdirs import user_config_path  # noqa: PLC0415 - 5 ms that a local file saves

    return user_config_path("presagio") / FILE_NAME


def _exists(path: Path) -> bool:
    """Return whether the path exists; unlike Path.exists(), False if a parent is inaccessible."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def read_file(path: Path) -> dict[str, object]:
    """Return the tables of a TOML file, with lists as tuples.

    Raises SettingsError if it is missing, unreadable, not UTF-8, not TOML, or holds a secret.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise SettingsError(
            f"{escaped_line(path)} cannot be read: {reason}.",
            fix=f"Name a readable file in --config or {CONFIG_VARIABLE}.",
        ) from exc
    except UnicodeDecodeError as exc:
        raise SettingsError(f"{escaped_line(path)} is not UTF-8.", fix="Save it as UTF-8.") from exc
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(
            f"{escaped_line(path)} is not valid TOML: {escaped_line(exc)}.",
            fix="Correct that place.",
        ) from exc
    for keys in _key_paths(tables):
        if variable := secret_variable(keys):
            raise SettingsError(
                f"{escaped_line(path)}: {write_dotted(keys)} is a secret"
                " and does not belong in a file.",
                fix=f"Remove it and set the environment variable {variable}.",
            )
    return {name: _freeze_lists(value) for name, value in tables.items()}


def _freeze_lists(value: object) -> object:
    if isinstance(value, list):
        return tuple(_freeze_lists(item) for item in value)
    if isinstance(value, dict):
        return {key: _freeze_lists(item) for key, item in value.items()}
    return value


def _key_paths(value: object, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield (*above, key)
            yield from _key_paths(below, (*above, key))
    elif isinstance(value, list):
        for item in value:
            yield from _key_paths(item, above)


def secret_variable(keys: tuple[str, ...]) -> str | None:
    """Return the environment variable of the secret that `keys` seems to name, or None."""
    names = ("_".join(keys).upper(), keys[-1].upper())
    for name in names:
        if name in _SECRET_VARIABLES:
            return name
    return _SECRET_KEYS.get(names[0])


def section_fields() -> Iterator[tuple[str, str, object]]:
    """Yield (section, key, default) of every setting, except lists of tables."""
    for section, table in Sections.model_fields.items():
        defaults = table.get_default()
        if isinstance(defaults, Section):
            for key in type(defaults).model_fields:
                yield section, key, getattr(defaults, key)


def read_environment(environ: Mapping[str, str]) -> list[Override]:
    """Return the overrides from the environment, with DATABASE_URL last so that it wins.

    Raises SettingsError for an unknown PRESAGIO_ variable, as a misspelt one would otherwise be
    ignored silently.
    """
    names = {
        variable_name(section, key): (section, key, default)
        for section, key, default in section_fields()
    }
    overrides = []
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or variable in _OTHER_VARIABLES:
            continue
        if variable not in names:
            raise _unknown_variable(variable, names)
        section, key, default = names[variable]
        overrides.append(
            Override(section=section, key=key, value=_parse_value(text, default), variable=variable)
        )
    if url := environ.get(DATABASE_VARIABLE, "").strip():
        overrides.append(
            Override(section="database", key="url", value=url, variable=DATABASE_VARIABLE)
        )
    return overrides


def variable_name(section: str, key: str) -> str:
    """Return the environment variable of a key."""
    return f"{PREFIX}{section}__{key}".upper()


def _unknown_variable(variable: str, names: Iterable[str]) -> SettingsError:
    keys = tuple(variable.removeprefix(PREFIX).split("__"))
    if explanation := explain_retired_setting(*(key.lower() for key in keys[:2])):
        return SettingsError(
            f"The environment variable {variable} is gone. {explanation}", fix="Unset it."
        )
    if secret := secret_variable(keys):
        fix = f"Set {secret} instead."
    else:
        fix = did_you_mean(variable, [*names, *_OTHER_VARIABLES]) or (
            "Names are PRESAGIO_<SECTION>__<KEY>; presagio config show lists them."
        )
    return SettingsError(
        f"The environment variable {escaped_line(variable)} is no setting.", fix=fix
    )


def _parse_value(text: str, default: object) -> object:
    """Return text as it is for a text setting, else parsed as TOML (3, true, ["a", "b"])."""
    if isinstance(default, str | SecretStr):
        return text
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return _freeze_lists(parsed["value"]) if len(parsed) == 1 else text


def read_secrets(environ: Mapping[str, str]) -> Secrets:
    """Return the secrets in the environment; an empty variable counts as unset."""
    secrets = {name: environ.get(name.upper(), "").strip() for name in Secrets.model_fields}
    return Secrets.model_validate({name: text for name, text in secrets.items() if text})


def read_variables(config: Path | None) -> dict[str, str]:
    """Return the variables of the file of secrets beside a configuration file, if there is one.

    Raises SettingsError if others than its owner may read it, or it cannot be read.
    """
    path = config.parent / ENVIRONMENT_FILE if config else None
    try:
        if path is None or not path.is_file():
            return {}
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise SettingsError(
                f"{escaped_line(path)} holds secrets, and others may read it.",
                fix=f"Run: chmod 600 {escaped_line(path)}",
            )
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"{escaped_line(path)} cannot be read.", fix="Mend the file.") from exc
    return variables_in(text)


def variables_in(text: str) -> dict[str, str]:
    """Return the variables of an environment file, without the quotes around their values."""
    variables = {}
    for match in filter(None, map(ASSIGNMENT.fullmatch, text.splitlines())):
        value = match[2].strip()
        is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        variables[match[1]] = value[1:-1] if is_quoted else value
    return variables


def did_you_mean(word: str, words: Iterable[str]) -> str | None:
    """Return "Did you mean ...?" when one of `words` is close."""
    import difflib  # noqa: PLC0415 - only errors need it

    close = difflib.get_close_matches(word, list(words), n=1)
    return f"Did you mean {close[0]}?" if close else None


def write_dotted(keys: Iterable[str]) -> str:
    """Return keys in the notation "[llm] model"."""
    first, *rest = (escaped_line(key) for key in keys)
    return f"[{first}] {'.'.join(rest)}" if rest else first


def escaped_line(value: object) -> str:
    """Return the text of `value` with line breaks and control characters escaped."""
    text = str(value)
    return text if text.isprintable() else json.dumps(text)[1:-1]


def locate_in_working_folder(explicit: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the file that is read because the process runs beside it: nobody named it, and it is
    not the user's own."""
    if explicit or environ.get(CONFIG_VARIABLE):
        return None
    path = locate_file(None, environ)
    with suppress(OSError):
        if path and path.samefile(usual_place()):
            return None
    return path


def require_own_file(path: Path) -> None:
    """Raise SettingsError if the file or its folder is another user's, who could have this process
    send its keys elsewhere. Root's are anybody's."""
    if os.name != "posix":
        return
    owners = {place.stat().st_uid for place in (path, path.parent) if place.exists()}
    if owners - {os.geteuid(), _ROOT}:
        raise SettingsError(
            f"The {escaped_line(path)} of this folder is another user's, and may send your keys"
            " elsewhere.",
            fix=f"Start in another folder, or name the file: --config {escaped_line(path)}",
        )


def tell_new_endpoints(path: Path) -> str | None:
    """Return the sentence that names the addresses of the file, or None if it names none or this
    has been told here before."""
    tables = read_file(path)
    endpoints = ", ".join(
        f"{escaped_line(public_address(str(address)))} ({write_dotted((section, key))})"
        for section, key in _list_addresses()
        if isinstance(table := tables.get(section), dict) and (address := table.get(key))
    )
    if not endpoints or _was_told(f"{path.absolute()} {endpoints}"):
        return None
    return f"The {path} of this folder sends keys and texts to: {endpoints}."


def _list_addresses() -> Iterator[tuple[str, str]]:
    """Yield section and key of each setting that is the address of a server."""
    for section, model in Sections():
        for key, field in type(model).model_fields.items() if isinstance(model, Section) else ():
            # Pydantic takes the type apart, unless it is one of several.
            if HttpUrl in get_args(field.annotation) or get_args(HttpUrl)[1] in field.metadata:
                yield section, key


def _was_told(line: str) -> bool:
    """Return whether a line was noted before, and note it if that can be done."""
    from platformdirs import user_cache_path  # noqa: PLC0415 - 5 ms that most folders save

    notes = user_cache_path("presagio") / _NOTES
    with suppress(OSError):
        told = notes.read_text(encoding="utf-8")[:_LONGEST_NOTES] if notes.exists() else ""
        if line in told.splitlines():
            return True
        notes.parent.mkdir(parents=True, exist_ok=True)
        notes.write_text(f"{line}\n{told}", encoding="utf-8")
        notes.chmod(stat.S_IRUSR | stat.S_IWUSR)
    return False


def explain_retired_setting(section: str, key: str = "") -> str | None:
    """Return what to do without a setting or a section that is gone, or None if it never was."""
    return RETIRED_SETTINGS.get(f"{section}.{key}") or RETIRED_SETTINGS.get(section)

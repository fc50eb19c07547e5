"""Changes config.toml and the file of secrets next to it, and leaves everything else as it is."""

import json
import re
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import SecretStr

from bot.settings.model import FeedSettings, Secrets, Sections
from bot.settings.sources import ASSIGNMENT, escaped_line
from engine.errors import SettingsError
from engine.settings import Section

_COPY = "Copy this file to config.toml, keep what you change."
_UNCOMMENT = "Take the # away from what you change."
_HEADER = """\
# All settings of Presagio with their defaults. {how}
#
# Looked for in this order: --config FILE, $PRESAGIO_CONFIG, config.toml in the working folder,
# config.toml in the user's configuration folder. An environment variable goes before the file:
# PRESAGIO_LLM__MODEL sets model in [llm]; numbers, true and lists are written as in this file.
#
# Secrets come from the environment, or from presagio.env beside this file, which presagio setup
# writes and only its owner may read:
{secrets}
# PRESAGIO_DATA_DIR names the folder of the embedded server.
"""
_KEY = re.compile(r"^\w+ = ", re.MULTILINE)
_EXAMPLES: Mapping[str, Sequence[Section]] = {
    "feeds": [
        FeedSettings(url="https://example.org/news.xml", category="news"),
        FeedSettings(url="https://example.org/tech.atom", category="tech"),
    ],
}
_SAFE = re.compile(r"[\w:./@%+=,-]*")


def example_toml() -> str:
    """Return the text of config.example.toml."""
    secrets = ", ".join([*(name.upper() for name in Secrets.model_fields), "DATABASE_URL"])
    blocks = [_HEADER.format(how=_COPY, secrets=_format_comment(f"{secrets}."))]
    for name, field in Sections.model_fields.items():
        defaults = field.get_default()
        if isinstance(defaults, Section):
            lines = _render_section(name, type(defaults))
        else:
            lines = _render_tables(name, _EXAMPLES[name])
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def starter_toml() -> str:
    """Return the text of a first config.toml: every key is there, and none of them is set.

    So defaults that a later version improves take effect.
    """
    return _KEY.sub(r"#\g<0>", example_toml().replace(_COPY, _UNCOMMENT))


def _render_tables(name: str, examples: Sequence[Section]) -> Iterator[str]:
    """Yield commented examples of a list of tables, which is empty by default."""
    model = type(examples[0])
    yield _format_comment(" ".join((model.__doc__ or "").split()))
    for key, field in model.model_fields.items():
        yield _format_comment(f"{key}: {field.description}")
    for example in examples:
        yield f"# [[{name}]]"
        for key, value in example:
            yield f"# {key} = {toml_value(value)}"


def _render_section(name: str, model: type[Section]) -> Iterator[str]:
    yield _format_comment(" ".join((model.__doc__ or "").split()))
    yield f"[{name}]"
    for key, field in model.model_fields.items():
        yield _format_comment(field.description or "")
        yield f"{key} = {toml_value(field.get_default())}"


def _format_comment(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="# ")


def toml_value(value: object) -> str:
    """Return a default in TOML notation."""
    if isinstance(value, SecretStr):
        return toml_value(value.get_secret_value())
    if isinstance(value, tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return json.dumps(value)  # strings, numbers and booleans look the same in JSON and TOML


def with_setting(text: str, section: str, key: str, value: object) -> str:
    """Return a TOML text in which one key of a section has this value.

    Comments and all other keys are kept. Raises SettingsError if the key stands in a form that
    cannot be changed by line, such as a value of several lines.
    """
    line, lines = f"{key} = {toml_value(value)}", text.splitlines()
    start = next((n for n, written in enumerate(lines) if written.strip() == f"[{section}]"), None)
    if start is None:
        lines += ["", f"[{section}]", line] if lines else [f"[{section}]", line]
    else:
        end = next(
            (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")),
            len(lines),
        )
        own = re.compile(rf"\s*{re.escape(key)}\s*=")
        place = next((n for n in range(start + 1, end) if own.match(lines[n])), None)
        if place is None:
            lines.insert(start + 1, line)
        else:
            lines[place] = line
    changed = "\n".join(lines) + "\n"
    _require_only(text, changed, section, key, value)
    return changed


def _require_only(before: str, after: str, section: str, key: str, value: object) -> None:
    """Raise SettingsError unless the two texts differ in this key alone."""
    try:
        expected, found = tomllib.loads(before), tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        found = expected = {}
    wanted = list(value) if isinstance(value, tuple) else value
    if not found or found != {**expected, section: {**expected.get(section, {}), key: wanted}}:
        raise SettingsError(
            f"[{section}] {key} cannot be changed in this file.",
            fix="Change it by hand, or move the file away.",
        )


def with_variable(text: str, name: str, value: str) -> str:
    """Return the text of an environment file in which a variable has this value.

    A shell and systemd read it alike. Raises SettingsError if they would not.
    """
    if any(character in value for character in "'\n\r\\") or not value.isprintable():
        raise SettingsError(
            f"{name} holds a quote, a backslash or a line break.", fix="Give the value alone."
        )
    line = f"{name}={value}" if _SAFE.fullmatch(value) else f"{name}='{value}'"
    lines, done = [], False
    for given in text.splitlines():
        match = ASSIGNMENT.fullmatch(given)
        if match and match[1] == name:
            if not done:
                lines.append(line)
            done = True
        else:
            lines.append(given)
    return "\n".join([*lines, *([] if done else [line])]) + "\n"


def write_whole(path: Path, text: str, *, mode: int) -> None:
    """Write a file atomically: a concurrent reader sees the old or the new one.

    Raises SettingsError.
    """
    try:
        make_passable(path.parent)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, encoding="utf-8", delete=False
        ) as file:
            file.write(text)  # the file is the owner's alone from the start
        Path(file.name).chmod(mode)
        Path(file.name).replace(path)
    except OSError as exc:
        raise SettingsError(
            f"{escaped_line(path)} cannot be written: {(exc.strerror or str(exc)).lower()}.",
            fix="Name another place with --config.",
        ) from exc


def make_passable(folder: Path) -> None:
    """Make a folder of settings that other accounts may enter, whatever the umask. Raises OSError.

    Root writes settings for an account that serves; what is secret in the folder is closed itself.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        each.chmod(0o755)

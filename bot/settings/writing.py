"""Changes config.toml and the file of secrets next to it, and leaves everything else as it is."""

import os
import re
import stat
import tempfile
import tomllib
from pathlib import Path

from bot.settings.example import toml_value
from bot.settings.sources import escaped_line
from engine.errors import SettingsError

ENVIRONMENT_FILE = "presagio.env"
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)")
_SAFE = re.compile(r"[\w:./@%+=,-]*")


def with_setting(text: str, section: str, key: str, value: object) -> str:
    """Return a TOML text in which one key of a section has this value.

    Comments and all other keys are kept. Raises SettingsError if the key stands in a form that
    cannot be changed by line, such as a value of several lines.
    """
    line, lines = f"{key} = {toml_value(value)}", text.splitlines()
    start = next((n for n, one in enumerate(lines) if one.strip() == f"[{section}]"), None)
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
    for one in text.splitlines():
        found = _LINE.fullmatch(one)
        if found and found[1] == name:
            if not done:
                lines.append(line)
            done = True
        else:
            lines.append(one)
    return "\n".join([*lines, *([] if done else [line])]) + "\n"


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
    found = (_LINE.fullmatch(line) for line in text.splitlines())
    return {one[1]: _unquoted(one[2].strip()) for one in found if one}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def write_whole(path: Path, text: str, *, mode: int) -> None:
    """Write a file atomically: a concurrent reader sees the old or the new one.

    Raises SettingsError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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

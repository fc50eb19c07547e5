"""The config.toml of the working folder, which somebody else may have put there: whose it is, and
to which addresses it sends keys and texts."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bot.settings.sources import (
    CONFIG_VARIABLE,
    escaped_line,
    locate_file,
    read_file,
    usual_place,
    write_dotted,
)
from engine.errors import SettingsError
from engine.text.address import public_address

_ENDPOINTS = (
    ("llm", "base_url"),
    ("embeddings", "base_url"),
    ("rerank", "base_url"),
    ("web_search", "searxng_url"),
    ("telegram", "api_base"),
    ("slack", "api_base"),
)
_ROOT = 0
_NOTES = "told-folders"
_LONGEST_NOTES = 100_000  # characters


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
    endpoints = ", ".join(_list_endpoints(path))
    if not endpoints or _was_told(f"{path.absolute()} {endpoints}"):
        return None
    return f"The {path} of this folder sends keys and texts to: {endpoints}."


def _list_endpoints(path: Path) -> Iterator[str]:
    tables = read_file(path)
    for section, key in _ENDPOINTS:
        table = tables.get(section)
        if isinstance(table, dict) and (address := table.get(key)):
            yield f"{escaped_line(public_address(str(address)))} ({write_dotted((section, key))})"


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

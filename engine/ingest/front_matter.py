"""The front matter of a Markdown file: YAML between `---`, or TOML between `+++`."""

import re
import tomllib
from datetime import UTC, date, datetime, time

import yaml

from engine.errors import RecordError
from engine.ingest.dates import written_at, zoned_or_utc
from engine.ingest.fields import mapping

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LONGEST = 100_000  # characters


def split_front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return the fields, by their names in lower case, and the text below. Raises RecordError."""
    for pattern, read in ((_YAML, _yaml), (_TOML, _toml)):
        if found := pattern.match(text):
            if len(found[1]) > _LONGEST:
                raise RecordError(f"the front matter is longer than {_LONGEST:,} characters")
            fields = mapping(read(found[1]))
            return {str(name).lower(): value for name, value in fields.items()}, text[found.end() :]
    return {}, text


def moment(value: object) -> datetime:
    """Read a date of front matter; one without a time is midnight, without a zone UTC.

    Raises RecordError.
    """
    if isinstance(value, datetime):
        return written_at(value)
    if isinstance(value, date):
        return written_at(datetime.combine(value, time(), UTC))
    return zoned_or_utc(value)


def names(value: object) -> tuple[str, ...]:
    """Return the words of a list, or of a text parted by commas."""
    found = value.split(",") if isinstance(value, str) else value
    items = found if isinstance(found, list) else []
    return tuple(text for item in items if (text := str(item).strip()))


def _yaml(text: str) -> object:
    try:
        return yaml.load(text, yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)  # noqa: S506 - both loaders are the safe one
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # ValueError: a month 13
        raise RecordError(f"the front matter is no valid YAML: {_first_line(exc)}") from exc


def _toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise RecordError(f"the front matter is no valid TOML: {_first_line(exc)}") from exc


def _first_line(exc: Exception) -> str:
    return str(exc).partition("\n")[0]

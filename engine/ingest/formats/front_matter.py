"""The front matter of a Markdown file: YAML between `---`, or TOML between `+++`."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time

from engine.errors import InputError, RecordError
from engine.ingest.dates import written_at, zoned_or_utc
from engine.ingest.fields import mapping
from engine.messages import Message
from engine.text.foreign_data import read_toml, read_yaml

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LONGEST = 100_000  # characters


def split_front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return the fields, by their names in lower case, and the text below. Raises RecordError."""
    for match, read, name in (
        (_YAML.match, read_yaml, "YAML"),
        (_TOML.match, read_toml, "TOML"),
    ):
        if found := match(text):
            if len(found[1]) > _LONGEST:
                raise RecordError(
                    Message(
                        "the front matter is longer than {number:,} characters", number=_LONGEST
                    )
                )
            fields = mapping(_read(read, found[1], name))
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
    """Return the words of a list, or of a text separated by commas."""
    found = value.split(",") if isinstance(value, str) else value
    items = found if isinstance(found, list) else []
    return tuple(text for item in items if (text := str(item).strip()))


def _read(read: Callable[[str], object], text: str, name: str) -> object:
    try:
        return read(text)
    except InputError as exc:
        raise RecordError(
            Message(
                "the front matter is no valid {name}: {message}", name=name, message=exc.message
            )
        ) from exc

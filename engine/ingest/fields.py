"""Reads values from records of JSON or CSV; damaged ones that are not essential are ignored."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import PurePosixPath
from urllib.parse import SplitResult, urlsplit

from engine.errors import RecordError
from engine.messages import Message

_TRUE, _FALSE = frozenset({"t", "true", "1", "yes"}), frozenset({"f", "false", "0", "no", ""})


def text_of(value: object) -> str:
    """Return the text of a record. Raises RecordError if there is none."""
    if not isinstance(value, str):
        raise RecordError(
            Message("no text") if value is None else Message("the text is not a text")
        )
    if not value.strip():
        raise RecordError(Message("the text is empty"))
    return value


def string(value: object) -> str | None:
    """Return the value if it is a string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def identifier(value: object) -> str | None:
    """Return the id of another message as text, or None; a float (maybe rounded) is no id."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return string(value)


def mapping(value: object) -> Mapping[str, object]:
    """Return an object's fields; an empty mapping for anything else."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> Sequence[Mapping[str, object]]:
    """Return the objects in a list; an empty list for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(value: object) -> list[str]:
    """Return the strings in a list that are not empty; an empty list for anything else."""
    return [text for item in value if (text := string(item))] if isinstance(value, list) else []


def count(value: object) -> int:
    """Return a number of likes or reposts, even if written as text; 0 if unknown."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else 0
    return max(0, value) if isinstance(value, int) else 0


def flag(value: object, name: str) -> bool:
    """Return a boolean from any of its spellings. Raises RecordError for anything else."""
    if value is None or isinstance(value, bool):
        return bool(value)
    word = str(value).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise RecordError(
        Message("{name} is {value!r}, not true or false", name=name, value=str(value)[:40])
    )


def made_id(*parts: str) -> str:
    """Return an id that the same message has in every export: a hash of its identifying parts."""
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()


def host_of(address: object) -> str | None:
    """Return "example.social" for "https://example.social/users/ana"."""
    parts = _split(address)
    return parts.hostname if parts else None


def last_part(address: object) -> str:
    """Return "ana" for "https://example.social/users/ana", also without a host; or ""."""
    parts = _split(address)
    return PurePosixPath(parts.path).name if parts else ""


def _split(address: object) -> SplitResult | None:
    try:
        return urlsplit(address) if isinstance(address, str) else None
    except ValueError:  # "http://["
        return None

"""Reads the fields of exported records: texts, ids, numbers and dates.

Functions for dates return a time in UTC and raise RecordError, also for years that no post can have
(before 1990, after 2200). A time in the near future is accepted: the clocks of sources differ, and
only the caller knows the current time.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from hashlib import blake2b
from pathlib import PurePosixPath
from urllib.parse import SplitResult, urlsplit

from engine.errors import RecordError
from engine.messages import Message
from engine.text.written_dates import iso_form, read_written_date

_TRUE, _FALSE = frozenset({"t", "true", "1", "yes"}), frozenset({"f", "false", "0", "no", ""})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2201, 1, 1, tzinfo=UTC)


def text_of(value: object) -> str:
    """Return the text of a record. Raises RecordError if there is none."""
    if not isinstance(value, str):
        raise RecordError(
            Message("no text") if value is None else Message("the text is not a text")
        )
    if not value.strip():
        raise RecordError(Message("the text is empty"))
    return value


def read_string(value: object) -> str | None:
    """Return the value if it is a string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def read_identifier(value: object) -> str | None:
    """Return the id of another message as text, or None; a float (maybe rounded) is no id."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return read_string(value)


def as_mapping(value: object) -> Mapping[str, object]:
    """Return an object's fields; an empty mapping for anything else."""
    return value if isinstance(value, dict) else {}


def read_mappings(value: object) -> Sequence[Mapping[str, object]]:
    """Return the objects in a list; an empty list for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_strings(value: object) -> list[str]:
    """Return the strings in a list that are not empty; an empty list for anything else."""
    return (
        [text for item in value if (text := read_string(item))] if isinstance(value, list) else []
    )


def mapping_at(value: object, *path: str) -> Mapping[str, object]:
    """Return the object at the end of a path of names; an empty mapping if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def string_at(value: object, *path: str) -> str | None:
    """Return the string at the end of a path of names, or None if none is there or it is empty."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value else None


def list_strings(items: object, name: str) -> list[str]:
    """Return the strings under a name in the objects of a list, without those that are empty."""
    return [text for item in read_mappings(items) if (text := read_string(item.get(name)))]


def read_number(value: object) -> int:
    """Return a number of likes or reposts, even if written as text; 0 if unknown."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else 0
    return max(0, value) if isinstance(value, int) else 0


def read_flag(value: object, name: str) -> bool:
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


def read_zoned_time(value: object) -> datetime:
    """Read an ISO 8601 time with its zone, or "Thu May 23 02:54:59 +0000 2019"."""
    moment = _read_time(value)
    if moment.tzinfo is None:
        raise RecordError(
            Message(
                "the time {value} has no zone; write it as 2019-05-23T02:54:59+00:00", value=value
            )
        )
    return written_at(moment)


def zoned_or_utc(value: object) -> datetime:
    """Read the same, or milliseconds since 1970 as a number, or a time without a zone as UTC.

    The latter are "2011-08-02 18:07:48", or "05-23-2019 02:54:59" with the month first.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return written_at(_EPOCH + timedelta(milliseconds=value))
        except OverflowError as exc:
            raise RecordError(
                Message("the time {value} lies outside the calendar", value=value)
            ) from exc
    if isinstance(value, str):
        date, _, clock = value.strip().partition(" ")
        if len(date) == 10 and date[2:3] == date[5:6] == "-":
            value = f"{date[6:]}-{date[:5]} {clock}"
    return written_at(_read_time(value))


def from_seconds(value: object) -> datetime:
    """Read seconds since 1970: 1612126949, 1612126949.5 or "1612126949.000200"."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise RecordError(
            Message("no date")
            if value is None
            else Message("the time {value!r} is not a number", value=value)
        )
    try:
        return written_at(_EPOCH + timedelta(microseconds=int(Decimal(str(value)) * 1_000_000)))
    except (ArithmeticError, ValueError) as exc:  # Decimal's errors; infinities
        raise RecordError(
            Message("the time {value!r} lies outside the calendar", value=str(value)[:40])
        ) from exc


def read_written_time(value: object, *, zone: tzinfo | None, is_day_first: bool | None) -> datetime:
    """Return the moment in UTC that people mean by a time; one without a zone is in `zone`.

    `read_written_date` says which times. A day without a clock is that day of UTC in any zone, so
    that it is shown as it was written. Raises RecordError, also where `zone` or `is_day_first` is
    needed and None.
    """
    moment = read_written_date(value, is_day_first)
    if moment.tzinfo is None and zone is None:
        raise RecordError(
            Message(
                "the time {value} has no zone; write it as 2019-05-23T02:54:59+00:00, or name"
                " the zone with --timezone",
                value=str(value)[:40],
            )
        )
    return written_at(moment if moment.tzinfo else moment.replace(tzinfo=zone))


def _read_time(value: object) -> datetime:
    if value is None or value == "":
        raise RecordError(Message("no date"))
    if not isinstance(value, str):
        raise RecordError(Message("the time {value!r} is not a text", value=value))
    try:
        return datetime.fromisoformat(iso_form(value.strip()))
    except ValueError as exc:
        raise RecordError(
            Message("the time {value!r} cannot be read or does not exist", value=value[:40])
        ) from exc


def written_at(moment: datetime) -> datetime:
    """Return a time in UTC, which one without a zone is in. Raises RecordError."""
    try:
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as exc:
        raise RecordError(
            Message("the time {time} lies outside the calendar", time=moment.isoformat())
        ) from exc
    if not _EARLIEST <= moment < LATEST:
        raise RecordError(
            Message("the time {time} lies outside 1990 to 2200", time=moment.isoformat())
        )
    return moment

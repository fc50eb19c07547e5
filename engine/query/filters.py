"""The filters of the query dialect: their names, values and conditions."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from engine.messages import Message, join_messages
from engine.query.query import Filter
from engine.search import Filters
from engine.values import Flag

_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?(?P<zone>Z|[+-]\d{2}:\d{2})?",
    re.ASCII | re.IGNORECASE,
)
# Far enough from the limits of `datetime` for any date arithmetic.
_YEARS = range(1000, 9999)
_LANGUAGE = re.compile(r"([a-z]+)(?:[-_]\w+)?")
_CORPUS = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
# The fields of conditions by their filters: one of several must match, or each must.
_ANY_OF = {
    "authors": "from",
    "languages": "lang",
    "platforms": "platform",
    "roles": "role",
    "domains": "domain",
    "threads": "thread",
}
_ALL_OF = {"tags": "tag", "mentions": "mention"}
_MAX_DIGITS = 9  # that fit the engagement column
_HAS: Mapping[str, Flag] = {"media": Flag.MEDIA}
_IS: Mapping[str, Flag] = {
    flag.names[0]: flag
    for flag in (Flag.REPOST, Flag.QUOTE, Flag.REPLY, Flag.TRUNCATED, Flag.DELETED)
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` (inclusive) to `end` (exclusive), both UTC. They are equal for a moment."""

    start: datetime
    end: datetime


def read_stretch(text: str) -> Stretch | None:
    """Return the time denoted by "2015", "2015-03", "2015-03-02" or an ISO 8601 moment.

    Days are in UTC unless the text ends in a zone ("2015-03-02+09:00"). Returns None if the text is
    not a time.
    """
    match = _DATE.fullmatch(text)
    try:
        if match:
            stretch = _read_days(match)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
            stretch = Stretch(moment, moment)
    except (ValueError, OverflowError):
        return None
    return stretch if stretch.start.year in _YEARS else None


def _read_days(match: re.Match[str]) -> Stretch:
    year, month, day = int(match["year"]), match["month"], match["day"]
    first = date(year, int(month or 1), int(day or 1))
    if day:
        after = first + timedelta(days=1)
    elif month:
        after = (first + timedelta(days=31)).replace(day=1)
    else:
        after = date(year + 1, 1, 1)
    zone = (match["zone"] or "Z").upper()
    start, end = (datetime.fromisoformat(f"{at}T00:00:00{zone}") for at in (first, after))
    return Stretch(start.astimezone(UTC), end.astimezone(UTC))


@dataclass(frozen=True, slots=True)
class _Kind:
    """How to read a filter's value (None or "" if it is invalid), and examples of valid values."""

    read: Callable[[str], str | None]
    examples: tuple[str, ...]


def _read_date(value: str) -> str | None:
    return value.upper() if read_stretch(value.upper()) else None


def _read_day(value: str) -> str | None:
    stretch = read_stretch(value.upper())
    return value.upper() if stretch and stretch.start < stretch.end else None


def _read_language(value: str) -> str | None:
    match = _LANGUAGE.fullmatch(value.lower())
    return match[1] if match else None


def _read_count(value: str) -> str | None:
    if not (value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS):
        return None
    return str(int(value))


def _one_of(names: Iterable[str]) -> Callable[[str], str | None]:
    return lambda value: value.lower() if value.lower() in names else None


KINDS: Mapping[str, _Kind] = {
    "before": _Kind(_read_date, ("2015", "2015-03-02", "2015-03-02T14:00+01:00")),
    "after": _Kind(_read_date, ("2015", "2015-03-02", "2015-03-02T14:00+01:00")),
    "on": _Kind(_read_day, ("2015", "2015-03", "2015-03-02")),
    "lang": _Kind(_read_language, ("en", "es")),
    "from": _Kind(lambda value: value.lstrip("@").lower(), ("ana",)),
    "in": _Kind(
        lambda value: value.lower() if _CORPUS.fullmatch(value.lower()) else None, ("demo",)
    ),
    "platform": _Kind(str.lower, ("mastodon",)),
    "role": _Kind(str.lower, ("user",)),
    "domain": _Kind(lambda value: value.lower().removeprefix("www."), ("example.org",)),
    "thread": _Kind(str, ("general",)),
    "tag": _Kind(lambda value: value.lstrip("#").casefold(), ("coffee",)),
    "min": _Kind(_read_count, ("100",)),
    "has": _Kind(_one_of(_HAS), tuple(_HAS)),
    "is": _Kind(_one_of(_IS), tuple(_IS)),
}
# As beside a headline in chats.
SPANISH_NAMES: Mapping[str, str] = {"antes": "before", "desde": "after", "fecha": "on"}
THERE_ARE = Message("There are: {names}.", names=", ".join(f"{name}:" for name in KINDS))


def read_filter(name: str, value: str, *, negated: bool) -> Filter | Message:
    """Return the filter of a name in lower case, or a notice for the user if it is invalid;
    THERE_ARE goes with those of unknown names, once."""
    kind = KINDS.get(name)
    if kind is None:
        return _no_filter(f"{name}:")
    read = kind.read(value)
    if read:
        return Filter(name, read, negated)
    examples = ", ".join(f"{name}:{example}" for example in kind.examples)
    return join_messages(
        _no_filter(f"{name}:{value}"), Message("Write for example: {examples}.", examples=examples)
    )


def _no_filter(written: str) -> Message:
    return Message('"{written}" is no filter, so it was read as a word.', written=written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions(Filters):
    """The conditions that every hit must meet in addition to the words.

    Names of accounts, platforms and roles are in lower case, tags and mentions case-folded.
    Of several authors, languages, platforms, roles, domains or threads, one must match; of `tags`,
    `mentions` and `require`, all must. Fields that start with `not_` exclude.
    """

    not_during: tuple[Stretch, ...] = ()
    minimum: int | None = None  # engagement, inclusive
    below: int | None = None  # engagement, exclusive
    authors: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None  # ISO 639-1, or the server's names: "es", "spanish"
    platforms: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None  # each includes its subdomains
    threads: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    not_authors: tuple[str, ...] = ()
    not_languages: tuple[str, ...] = ()
    not_platforms: tuple[str, ...] = ()
    not_roles: tuple[str, ...] = ()
    not_domains: tuple[str, ...] = ()
    not_threads: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    not_mentions: tuple[str, ...] = ()


def combine_conditions(filters: Sequence[Filter]) -> Conditions:
    """Return the combined conditions of the filters; `in:` sets no condition on documents."""
    wanted = [condition for condition in filters if not condition.negated]
    unwanted = [condition for condition in filters if condition.negated]
    lists: dict[str, Any] = {
        **{field: _values_of(wanted, name) or None for field, name in _ANY_OF.items()},
        **{field: _values_of(wanted, name) for field, name in _ALL_OF.items()},
    }
    for field, name in (_ANY_OF | _ALL_OF).items():
        lists[f"not_{field}"] = _values_of(unwanted, name)
    on = _read_stretches(wanted, "on")
    until = [*_read_stretches(wanted, "before"), *_read_stretches(unwanted, "after")]
    since = [*_read_stretches(wanted, "after"), *_read_stretches(unwanted, "before"), *on]
    return Conditions(
        before=min([*(each.start for each in until), *(each.end for each in on)], default=None),
        after=max((each.start for each in since), default=None),
        not_during=tuple(_read_stretches(unwanted, "on")),
        require=_read_filter_flags(wanted),
        exclude=_read_filter_flags(unwanted),
        minimum=max(map(int, _values_of(wanted, "min")), default=None),
        below=min(map(int, _values_of(unwanted, "min")), default=None),
        **lists,
    )


def _values_of(filters: Sequence[Filter], name: str) -> tuple[str, ...]:
    return tuple(condition.value for condition in filters if condition.name == name)


def _read_filter_flags(filters: Sequence[Filter]) -> Flag:
    flags = Flag.NONE
    for value in _values_of(filters, "has"):
        flags |= _HAS[value]
    for value in _values_of(filters, "is"):
        flags |= _IS[value]
    return flags


def _read_stretches(filters: Sequence[Filter], name: str) -> list[Stretch]:
    read = (read_stretch(value) for value in _values_of(filters, name))
    return [stretch for stretch in read if stretch]

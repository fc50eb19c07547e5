"""Parses feeds (RSS 0.9x, 1.0 and 2.0, Atom, JSON Feed), in separate processes."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import orjson

from engine.errors import FeedUnreadable, RecordError
from engine.feeds.feed import DAY, HOUR, MINUTE, FeedEntry, ParsedFeed
from engine.feeds.markup import (
    LONGEST_SUMMARY,
    MAX_ENTRIES,
    feed_language,
    hash_of,
    markup_text,
    parse_markup,
    plain_words,
    tags_of,
    title_words,
    web_link,
)
from engine.messages import Message
from engine.process_pool import Ending, Limits, ProcessPool, WorkerEnded
from engine.text.clean import make_storable
from engine.text.written_dates import DayOrder, find_day_order, read_written_date

_Item = TypeVar("_Item", bound=Mapping[str, Any])
_VERSION = "jsonfeed.org/version/"
_ALTERNATE = re.compile(r"(?:^|[\s/])alternate(?:\s|$)")  # its full name is an address
_HTML_TYPE = re.compile(r"^(?:\s*$|.*html)")
_PERIODS = {"hourly": HOUR, "daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY}
_JSON_DATES = ("date_published", "date_modified")
_DATES = ("published", "updated", "created")
# Ordinary feeds take a third of a second of CPU time a megabyte.
FEED_LIMITS = Limits(
    seconds=2.0, seconds_per_megabyte=1.0, memory=512_000_000, modules=["engine.feeds.read"]
)
_EAST_ASIAN = re.compile(r"(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일号]?")
_EAST_ASIAN_CLOCK = re.compile(r"(\d{1,2}) ?[时時시] ?(\d{1,2}) ?[分분](?: ?(\d{1,2}) ?[秒초])?")
_BLANKS_BETWEEN = re.compile(r"^(\d{4})[ /.-]\s?(\d{1,2})[ /.-]\s?(\d{1,2})(?=[.\s]|$)\.?")
# Behind an offset, which says as much.
_NAMED_ZONE = re.compile(r"\[[A-Za-z/_]+\]$|(?<=[+-]\d{4}) [A-Z]{2,5}(?: m=.*)?$")
_BLANKS = re.compile(r"\s+")
_LONGEST = 100  # characters
_KNOWN = (DayOrder.DAY_FIRST, DayOrder.MONTH_FIRST)


def read_json_feed(text: str, url: str) -> ParsedFeed:
    """Read a feed that came from `url`. Raises FeedUnreadable if it is not one."""
    feed = _load_json(text)
    if not isinstance(feed, dict) or _VERSION not in str(feed.get("version")):
        raise FeedUnreadable(Message("The answer is JSON, but not a JSON Feed."))
    items = feed.get("items")
    return ParsedFeed(
        entries=tuple(
            _json_entry(item, url)
            for item in choose_newest(
                [item for item in _as_list(items) if isinstance(item, dict)], _JSON_DATES
            )
        ),
        title=title_words(_as_text(feed.get("title"))) or None,
        link=web_link(feed.get("home_page_url"), url),
        language=feed_language(feed.get("language")),
    )


def _load_json(text: str) -> object:
    """Return what JSON says. The strict parser, which is faster, refuses halves of characters."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError) as exc:
            raise FeedUnreadable(Message("The answer is broken JSON, not a feed.")) from exc


def _json_entry(item: dict[str, Any], url: str) -> FeedEntry:
    names = ("summary", "content_text", "content_html")
    return FeedEntry(
        identity=make_storable(_as_text(item.get("id"))),
        title=title_words(_as_text(item.get("title"))),
        link=web_link(item.get("url") or item.get("external_url") or _as_address(item), url),
        summary=plain_words(
            next(filter(None, (_as_text(item.get(name)) for name in names)), ""), LONGEST_SUMMARY
        ),
        published=_read_published(item, _JSON_DATES, is_day_first=None),
        author=_read_author(item),
        tags=tags_of(_as_list(item.get("tags"))),
    )


def _as_address(item: dict[str, Any]) -> str | None:
    """Return the id of an item if it is an address, as ids ideally are."""
    name = _as_text(item.get("id"))
    return name if "://" in name else None


def _read_author(item: dict[str, Any]) -> str | None:
    """Return the first name; version 1.0 had one `author`, 1.1 has `authors`."""
    for author in (*_as_list(item.get("authors")), item.get("author")):
        if isinstance(author, dict) and (name := plain_words(_as_text(author.get("name")), 200)):
            return name
    return None


def choose_newest(items: Sequence[_Item], dates: Iterable[str]) -> Sequence[_Item]:
    """Return at most MAX_ENTRIES items: those of the end that is newer by its dates.

    Where the dates tell nothing, half are of either end.
    """
    if len(items) <= MAX_ENTRIES:
        return items
    first, last = (_read_published(items[at], dates, is_day_first=None) for at in (0, -1))
    if first is None or last is None or first == last:
        return [*items[: MAX_ENTRIES // 2], *items[-(MAX_ENTRIES // 2) :]]
    return items[:MAX_ENTRIES] if first > last else items[-MAX_ENTRIES:]


def _as_text(value: object) -> str:
    """Return strings unchanged and numbers as strings: ids are often numbers."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def read_feed(body: bytes, content_type: str | None, url: str) -> ParsedFeed:
    """Read a feed that came from `url`, or what can be read of a damaged one.

    Raises FeedUnreadable if it is not a feed, or declares entities.
    """
    text = markup_text(body, content_type)
    feed = read_json_feed(text, url) if text.startswith("{") else _read_xml(text, url)
    shared = _find_shared_names((entry.identity, entry.title) for entry in feed.entries)
    entries = _identify_entries(feed.entries, shared)
    return replace(feed, entries=entries, guids_shared=bool(shared - {""}))


def _read_xml(text: str, url: str) -> ParsedFeed:
    parsed = parse_markup(text, url)
    if not parsed.version and not parsed.entries:
        raise FeedUnreadable(
            Message("This is not a feed."), fix=Message("Give the address of an RSS or Atom feed.")
        )
    feed, entries = parsed.feeddata, choose_newest(parsed.entries, _DATES)
    is_day_first = find_order_of_days(
        entry[name] for entry in entries for name in _DATES if name in entry
    )
    return ParsedFeed(
        entries=tuple(_read_entry(entry, url, is_day_first) for entry in entries),
        title=title_words(feed.get("title") or feed.get("dc_title")) or None,
        link=web_link(_choose_link(feed), url),
        language=feed_language(feed.get("language")),
        ttl=_read_ttl(feed),
    )


def _read_entry(entry: Mapping[str, Any], url: str, is_day_first: bool | None) -> FeedEntry:
    contents = entry.get("content") or [{}]
    return FeedEntry(
        identity=make_storable(str(entry.get("id") or "")),
        title=title_words(entry.get("title") or entry.get("dc_title")),
        link=web_link(_choose_link(entry), url),
        summary=plain_words(entry.get("summary") or contents[0].get("value"), LONGEST_SUMMARY),
        published=_read_published(entry, _DATES, is_day_first=is_day_first),
        author=plain_words(entry.get("author"), 200) or None,
        tags=tags_of(tag.get("term") for tag in entry.get("tags") or ()),
    )


def _choose_link(item: Mapping[str, Any]) -> object:
    """Return the first link to a page, whatever its type, or else a guid that is an address."""
    pages = [
        link
        for link in item.get("links") or ()
        if link.get("href") and _ALTERNATE.search(str(link.get("rel", "")))
    ]
    texts = (link["href"] for link in pages if _HTML_TYPE.search(str(link.get("type", ""))))
    guid = item.get("id") if item.get("is_permalink") else None
    return next(texts, pages[0]["href"] if pages else guid)


def _read_published(
    item: Mapping[str, Any], names: Iterable[str], *, is_day_first: bool | None
) -> datetime | None:
    """Return the first date under `names` that can be read."""
    written = (item[name] for name in names if name in item)
    dates = (read_feed_date(date, is_day_first=is_day_first) for date in written)
    return next(filter(None, dates), None)


def _read_ttl(feed: Mapping[str, Any]) -> float | None:
    """Return the seconds between updates: `ttl` is in minutes, `sy:updatePeriod` is a name."""
    minutes = _read_number(feed.get("ttl"))
    if minutes is not None:
        return minutes * MINUTE
    period = _PERIODS.get(str(feed.get("sy_updateperiod") or "").strip().lower())
    times = _read_number(feed.get("sy_updatefrequency")) or 1
    return period / times if period else None


def _read_number(written: object) -> int | None:
    text = str(written or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _identify_entries(entries: Sequence[FeedEntry], guids: set[str]) -> tuple[FeedEntry, ...]:
    """Give each entry an identity: its guid, else its link, else a hash of its words.

    A guid among `guids`, which several different entries of one document share, is not an identity;
    nor is such a link.
    """
    links = _find_shared_names((entry.link or "", entry.title) for entry in entries)
    return tuple(
        replace(entry, identity=_choose_identity(entry, guids, links)) for entry in entries
    )


def _find_shared_names(named: Iterable[tuple[str, str]]) -> set[str]:
    """Return the names that occur with more than one title."""
    return {name for name, times in Counter(name for name, _ in set(named)).items() if times > 1}


def _choose_identity(entry: FeedEntry, shared_guids: set[str], shared_links: set[str]) -> str:
    if entry.identity and entry.identity not in shared_guids:
        return entry.identity
    if entry.link and entry.link not in shared_links:
        return entry.link
    return hash_of(entry.link or "", entry.title, entry.summary)


class FeedParser(ProcessPool):
    """Reads feeds, `workers` at a time. Use `async with`; processes start on first use."""

    def __init__(self, limits: Limits = FEED_LIMITS, *, workers: int = 2) -> None:
        super().__init__(limits, workers=workers)

    async def parse(self, body: bytes, content_type: str | None, url: str) -> ParsedFeed:
        """Read the feed that came from `url`, as engine.feeds.read does.

        Raises FeedUnreadable, also if reading takes too long or kills the worker, and
        ProcessUnstarted.
        """
        try:
            return await self.run(read_feed, body, content_type, url)
        except WorkerEnded as exc:
            raise _map_ending(exc.ending) from exc


def _map_ending(ending: Ending) -> FeedUnreadable:
    if ending is Ending.SLOW:
        return FeedUnreadable(Message("The feed takes too long to read."))
    if ending is Ending.GREEDY:
        return FeedUnreadable(Message("The feed takes too much memory to read."))
    return FeedUnreadable(Message("The process that read the feed broke down."))


def read_feed_date(written: object, *, is_day_first: bool | None = None) -> datetime | None:
    """Return the date in UTC, or None if what is written is none as a whole; without a zone, UTC.

    `is_day_first` is the order of dates such as 03/04/2026, which are none if it is None.
    """
    text = _as_text(written)
    if len(text) > _LONGEST:
        return None
    try:
        date = read_written_date(_spell_plainly(text), is_day_first)
        zoned = date if date.tzinfo else date.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).replace(microsecond=0)
    except (RecordError, OverflowError):
        return None


def find_order_of_days(written: Iterable[object]) -> bool | None:
    """Return whether the day comes before the month in the dates of a feed; None if unknown."""
    order = find_day_order(written)
    return None if order not in _KNOWN else order is DayOrder.DAY_FIRST


def _spell_plainly(written: str) -> str:
    """Return a date whose year comes first with hyphens in it, and with an ordinary clock."""
    text = _BLANKS.sub(" ", _NAMED_ZONE.sub("", written.strip()))
    text = _EAST_ASIAN_CLOCK.sub(r"\1:\2:\g<3>", _EAST_ASIAN.sub(r"\1-\2-\3", text)).rstrip(":")
    return _BLANKS_BETWEEN.sub(lambda day: f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}", text)

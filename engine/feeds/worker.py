"""The orders and answers of the process that reads feeds."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from engine.feeds.read import read_feed
from engine.feeds.types import FeedEntry, ParsedFeed
from engine.isolation.frames import pack_order, unpack_order
from engine.isolation.worker import allow, run_worker


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOrder:
    """A feed to read, and the processor time for it in seconds."""

    body: bytes = field(repr=False)
    content_type: str | None
    url: str
    seconds: float


def pack_feed(order: FeedOrder) -> bytes:
    """Return the bytes of an order."""
    return pack_order([order.content_type, order.url, order.seconds], order.body)


def answer(order: bytes) -> bytes:
    """Read the feed of an order. Raises FeedUnreadable."""
    (content_type, url, seconds), body = unpack_order(order)
    allow(seconds)
    try:
        return orjson.dumps(read_feed(body, content_type, url))
    finally:
        allow(0)


def unpack_answer(found: bytes) -> ParsedFeed:
    """Unpack the worker's answer."""
    said = orjson.loads(found)
    entries = tuple(_unpack_entry(entry) for entry in said.pop("entries"))
    return ParsedFeed(entries=entries, **said)


def _unpack_entry(said: dict[str, Any]) -> FeedEntry:
    date, tags = said.pop("published"), tuple(said.pop("tags"))
    return FeedEntry(published=date and datetime.fromisoformat(date), tags=tags, **said)


def main() -> None:
    """Read feeds for the process at the other end of the pipes."""
    run_worker(lambda _: answer)

"""The orders and answers of the process that extracts articles."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from engine.errors import ExtraMissing
from engine.isolation.frames import pack_order, unpack_order
from engine.isolation.worker import Answer, Owner, allow, run_worker
from engine.page.article import Article, ArticleBlock, article, load_libraries


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrder:
    """A page to read, and the processor time for it in seconds."""

    html: bytes = field(repr=False)
    charset: str | None
    url: str
    now: datetime
    seconds: float


def pack_page(order: PageOrder) -> bytes:
    """Return the bytes of an order."""
    return pack_order([order.charset, order.url, order.now, order.seconds], order.html)


def extract_page(order: bytes) -> bytes:
    """Extract the article of an order. Raises ExtraMissing."""
    (charset, url, now, seconds), html = unpack_order(order)
    allow(seconds)
    try:
        found = article(html, charset=charset, url=url, now=datetime.fromisoformat(now))
        return orjson.dumps(found)
    finally:
        allow(0)


def unpack_article(found: bytes) -> Article | None:
    """Unpack the worker's answer."""
    said = orjson.loads(found)
    if said is None:
        return None
    date = said.pop("date")
    blocks = tuple(
        ArticleBlock(block["text"], tuple(block["headings"])) for block in said.pop("blocks")
    )
    return Article(blocks=blocks, date=date and datetime.fromisoformat(date), **said)


def _employ(_: Owner) -> Answer:
    with suppress(ExtraMissing):  # the first order will say so
        load_libraries()
    return extract_page


def main() -> None:
    """Extract articles for the process at the other end of the pipes."""
    run_worker(_employ)

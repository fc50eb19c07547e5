"""Finds the link in a message, and reads the page it leads to: its headline, and its article.

Extracting an article is blocking, and slow on hostile pages: 5 MB of <p> take 25 seconds. Call it
in a process that can be killed, as `ArticleReader` does.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from engine.errors import (
    ExtraMissing,
    FetchStatus,
    FetchTimeout,
    FetchUntitled,
    PageUnreadable,
    ProcessUnstarted,
)
from engine.fetch import FetchLimits, shown_host
from engine.messages import Message
from engine.page.headline import NoHeadline, choose_headline, is_home, slug_words
from engine.page.metadata import Page, decode_page, read_page
from engine.process_pool import Ending, Limits, ProcessPool, WorkerEnded
from engine.search import Headline
from engine.values import DateKind

if TYPE_CHECKING:
    from engine.fetch.client import Fetcher

LONGEST_PAGE = 1_000_000  # bytes; what comes after is not read
_LONGEST_TITLE = 1000  # characters
_LONGEST_NAME = 200
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" ?\n[ \n]*")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]+")
_NO_LATEST = datetime(9000, 1, 1, tzinfo=UTC)
PAGE_LIMITS = FetchLimits(seconds=10.0, bytes=2_000_000, is_cut=True)  # titles come first
# Of extracting an article; ordinary pages take a tenth of a second of CPU time.
ARTICLE_LIMITS = Limits(
    seconds=3.0, memory=1_000_000_000, modules=["engine.page.article", "trafilatura.core"]
)
_MAX_REFRESHES = 2
_LATER = frozenset({429, *range(500, 600)})  # the page may come with another attempt
PAGE_TYPES = ("text/html", "application/xhtml+xml")
_LINK = re.compile(r"(?<![\w@])(?:https?://|www\.)[^\s<>\"\x00-\x1f]{1,4000}", re.IGNORECASE)
_PUNCTUATION = ".,;:!?…'’”»*_~`|"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_NOBODY = re.compile(r"unknown(?: author)?|admin(?:istrator)?|author|none", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ArticleBlock:
    """A paragraph, list or table, with the headings above it, the outermost first."""

    text: str
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """The article of a page; None where the page does not say. `language` is ISO 639."""

    title: str | None
    author: str | None
    date: datetime | None
    dated_by: DateKind | None  # what the date tells, if not when it was published
    site: str | None
    language: str | None
    text: str  # headings and paragraphs, separated by blank lines
    blocks: tuple[ArticleBlock, ...]


def read_article(
    html: bytes, *, charset: str | None = None, url: str | None = None, now: datetime | None = None
) -> Article | None:
    """Return the article in an HTML page, or None if there is none.

    Only the first LONGEST_PAGE bytes are read, and nothing is ever fetched. `charset` is the
    encoding that the server declared; `url` helps to find the site and the date. Dates after `now`
    are ignored. Raises ExtraMissing.
    """
    html = html[:LONGEST_PAGE]
    content_type = f"text/html; charset={charset}" if charset else None
    extracted = _extract_article(decode_page(html, content_type), url, now or _NO_LATEST)
    if extracted is None:
        return None
    parts = tuple(_article_parts(extracted.body))
    if not any(isinstance(part, ArticleBlock) for part in parts):
        return None
    page = read_page(html, content_type, now=now or _NO_LATEST)
    author = _as_line(extracted.author, _LONGEST_NAME)
    try:
        day = datetime.fromisoformat(extracted.date or "").replace(tzinfo=UTC)
    except ValueError:
        day = None
    date, dated_by = _choose_date(page, day)
    return Article(
        title=_as_line(extracted.title, _LONGEST_TITLE) or page.title,
        author=author and (None if _NOBODY.fullmatch(author) else author),
        date=date,
        dated_by=dated_by,
        site=page.site or _as_line(extracted.sitename, _LONGEST_NAME),
        language=page.language,
        text="\n\n".join(part if isinstance(part, str) else part.text for part in parts),
        blocks=tuple(part for part in parts if isinstance(part, ArticleBlock)),
    )


def _choose_date(page: Page, day: datetime | None) -> tuple[datetime | None, DateKind | None]:
    """Return the date of a page and what it tells; `day` may be either of the two."""
    if page.published or not page.modified:
        return page.published or day, None
    if day and day.date() < page.modified.date():
        return day, None
    return page.modified, DateKind.MODIFIED


def load_libraries() -> Any:
    """Import what extracts articles, which takes a second. Raises ExtraMissing."""
    try:
        library = import_module("trafilatura.core")
    except ImportError as exc:
        raise _extra_missing() from exc
    for name in ("trafilatura", "htmldate"):  # they log the addresses of pages
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return library


def require_libraries() -> None:
    """Raise ExtraMissing unless articles can be extracted. Imports nothing."""
    if find_spec("trafilatura") is None:
        raise _extra_missing()


def _extra_missing() -> ExtraMissing:
    return ExtraMissing(
        Message("Articles of web pages need libraries that are not installed."), extra="documents"
    )


def _extract_article(html: str, url: str | None, latest: datetime) -> Any:
    return load_libraries().bare_extraction(
        html,
        url=url,
        with_metadata=True,
        include_comments=False,
        include_formatting=True,  # else headings have no levels
        date_extraction_params={
            "original_date": True,
            "extensive_search": False,  # it would take any number for a date
            "max_date": latest.strftime("%Y-%m-%d"),
        },
    )


def _article_parts(body: Any) -> Iterator[str | ArticleBlock]:
    """Yield headings, as text, and blocks in the order of the page."""
    headings: list[tuple[int, str]] = []
    for element in body:
        text = _element_text(element)
        if not text:
            continue
        if element.tag != "head":
            yield ArticleBlock(text, tuple(heading for _, heading in headings))
            continue
        level = _LEVELS.get(element.get("rend") or "", 2)
        text = " ".join(text.split())
        headings = [above for above in headings if above[0] < level] + [(level, text)]
        yield text


def _element_text(element: Any) -> str:
    """Return the text of an element, with a line for each item or row."""
    text = _BLANKS.sub(" ", _UNPRINTABLE.sub("", "".join(_list_pieces(element))))
    return _LINE_ENDS.sub("\n", text).strip()


def _list_pieces(element: Any) -> Iterator[str]:
    """Yield texts in the order of the page; works at any depth of nesting."""
    waiting: list[Any] = [element]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
            continue
        if node.tag in ("lb", "item", "row", "p", "head", "quote"):
            yield "\n"
        elif node.tag == "cell" and node.getprevious() is not None:
            yield " | "
        # What an author typed as line ends in the source are blanks.
        text = node.text or ""
        yield text if node.tag == "code" else text.replace("\n", " ")
        for child in reversed(node):
            if child.tail:
                waiting.append(child.tail.replace("\n", " "))
            waiting.append(child)


def _as_line(text: str | None, longest: int) -> str | None:
    line = " ".join(_UNPRINTABLE.sub(" ", text or "").split())
    return line[:longest] or None


class ArticleReader(ProcessPool):
    """Extracts articles, `workers` at a time. Use `async with`; processes start on first use."""

    def __init__(self, limits: Limits = ARTICLE_LIMITS, *, workers: int = 2) -> None:
        super().__init__(limits, workers=workers)

    async def read(
        self, html: bytes, *, charset: str | None, url: str, now: datetime
    ) -> Article | None:
        """Return the article in a page, as engine.page.article does.

        Raises PageUnreadable, ProcessUnstarted, and PresagioError if the libraries for articles are
        not installed.
        """
        try:
            return await self.run(
                read_article, html[:LONGEST_PAGE], charset=charset, url=url, now=now
            )
        except WorkerEnded as exc:
            raise unreadable_page(exc.ending) from exc


def unreadable_page(ending: Ending) -> PageUnreadable:
    """Return the error for a page whose process ended."""
    message = Message("The process that read the page broke down.")
    if ending is Ending.SLOW:
        message = Message("The page takes too long to read.")
    elif ending is Ending.GREEDY:
        message = Message("The page takes too much memory to read.")
    return PageUnreadable(message)


def first_link(text: str) -> str | None:
    """Return the first of `find_links`, or None."""
    return next(find_links(text), None)


def find_links(text: str) -> Iterator[str]:
    """Yield the http(s) links in `text`.

    Punctuation after one is not part of it, nor are closing brackets that were opened before it. A
    link that begins with "www." is yielded with "https://" in front.
    """
    for match in _LINK.finditer(text):
        link = match[0]
        counts, end = Counter(link), len(link)
        while end:
            last = link[end - 1]
            opening = _PAIRS.get(last)
            unopened = opening is not None and counts[last] > counts[opening]
            if last not in _PUNCTUATION and not unopened:
                break
            counts[last] -= 1
            end -= 1
        link = link[:end] if "://" in link[:end] else f"https://{link[:end]}"
        if link.partition("://")[2].lower() not in ("", "www"):
            yield link


async def headline_from_link(
    fetcher: "Fetcher", isolation: ProcessPool, url: str, *, now: datetime
) -> Headline:
    """Fetch the page at `url` and return its title as a headline, with its date if it has one.

    Pages that lead on by themselves are followed. Takes ten seconds at most. Raises FetchError,
    also if the page stands before an article; the words of its address are then proposed.
    """
    host = shown_host(url)
    try:
        async with asyncio.timeout(PAGE_LIMITS.seconds):
            address, page, title = await _read_linked_page(fetcher, isolation, url, now=now)
    except TimeoutError as exc:
        raise FetchTimeout(
            Message(
                "{host} took longer than {seconds:g} s.", host=host, seconds=PAGE_LIMITS.seconds
            ),
            fix=Message("Try again later, or paste the headline."),
        ) from exc
    except WorkerEnded as exc:
        raise unreadable_page(exc.ending) from exc
    except ProcessUnstarted as exc:
        raise PageUnreadable(exc.message, fix=exc.fix) from exc
    except FetchStatus as error:
        if error.status not in _LATER:
            error.fix = _advise_on(url)
        raise
    if not isinstance(title, NoHeadline):
        return Headline(text=title, original=url, date=page.published)
    message = Message("{host} does not show the article to me.", host=host)
    if title is NoHeadline.UNTITLED:
        message = Message("The page of {host} has no title.", host=host)
    raise FetchUntitled(message, fix=_advise_on(address if slug_words(address) else url))


async def _read_linked_page(
    fetcher: "Fetcher", isolation: ProcessPool, url: str, *, now: datetime
) -> tuple[str, Page, str | NoHeadline]:
    """Return the address of the page that a link leads to, the page, and its headline."""
    for _ in range(_MAX_REFRESHES + 1):
        fetched = await fetcher.get(url, limits=PAGE_LIMITS, accept=PAGE_TYPES)
        content_type = fetched.headers.get("Content-Type")
        page = await isolation.run(read_page, fetched.body, content_type, now=now)
        leads_home = is_home(fetched.url) and not is_home(url)
        title = NoHeadline.WALL if leads_home else choose_headline(page, fetched.url)
        if not isinstance(title, NoHeadline) or not page.refresh:
            break
        url = urljoin(fetched.url, page.refresh)
    return fetched.url, page, title


def _advise_on(url: str) -> Message:
    """Return what to do about a page without a headline: paste it, or what its address says."""
    if words := slug_words(url):
        return Message(
            'Paste the headline instead. By its address it may be: "{words}".', words=words
        )
    return Message("Paste the headline instead.")

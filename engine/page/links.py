"""Finds a link in a message, and the headline of the page it leads to."""

import asyncio
import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from engine.errors import FetchTimeout, FetchUntitled, PageUnreadable, ProcessUnstarted
from engine.fetch import FetchLimits, shown_host
from engine.isolation.process import Isolation, WorkerEnded
from engine.messages import Message
from engine.page.article import unreadable_page
from engine.page.read import Page, read_page
from engine.prophecy.headline import read_headline
from engine.search import Headline

PAGE_LIMITS = FetchLimits(seconds=10.0, bytes=2_000_000)
PAGE_TYPES = ("text/html", "application/xhtml+xml")

_LINK = re.compile(r"(?<![\w@])(?:https?://|www\.)[^\s<>\"\x00-\x1f]{1,4000}", re.IGNORECASE)
_PUNCTUATION = ".,;:!?…'’”»*_~`|"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_SEPARATORS = " |·•»-–—:"
# Titles of pages that stand before the article: they ask who reads, or say that it is not shown.
_NO_ARTICLE = re.compile(
    r"(?:.{1,40} [-–—|·] )?(?:log ?in|sign ?in|log ?on|sign ?up)"
    r"(?: (?:page|required|(?:to|or|with|[-–—|·]) .*))?"
    r"|just a moment|one moment(?:,? please)?|please wait|loading|redirecting"
    r"|are you (?:a |not a )?(?:robot|human)|(?:please )?verify (?:that )?you(?:['’]re| are) .*"
    r"|human verification|security check|checking your browser.*|attention required.*"
    r"|(?:error |http )?\d{3}(?:[ :-]+(?:error|forbidden|unauthorized|(?:page )?not found"
    r"|bad gateway|service unavailable|internal server error))?|(?:page )?not found|forbidden"
    r"|access (?:is |to this page (?:has been|is) )?(?:denied|blocked)"
    r"|subscribe|subscribe to (?:read|continue).*|before you continue.*"
    r"|(?:cookie|privacy) (?:consent|settings|preferences)"
    r"|(?:inicia|iniciar|inicie) sesi[oó]n.*|acceso denegado|p[aá]gina no encontrada"
    r"|un momento(?:,? por favor)?|(?:verifica|comprueba) que .{0,10}(?:robot|humano)"
    r"|antes de (?:ir|continuar) a .*|suscr[ií]b(?:ete|ase|ite)(?: para (?:leer|continuar).*)?",
    re.IGNORECASE,
)

if TYPE_CHECKING:
    from engine.fetch.client import Fetcher


def first_link(text: str) -> str | None:
    """Return the first of `find_links`, or None."""
    return next(find_links(text), None)


def find_links(text: str) -> Iterator[str]:
    """Yield the http(s) links in `text`.

    Punctuation after one is not part of it, nor are closing brackets that were opened before it. A
    link that begins with "www." is yielded with "https://" in front.
    """
    for found in _LINK.finditer(text):
        link = _without_tail(found[0])
        if "://" not in link:
            link = f"https://{link}"
        if link.partition("://")[2].lower() not in ("", "www"):
            yield link


def _without_tail(link: str) -> str:
    while link:
        last = link[-1]
        opening = _PAIRS.get(last)
        unopened = opening is not None and link.count(last) > link.count(opening)
        if last not in _PUNCTUATION and not unopened:
            break
        link = link[:-1]
    return link


async def headline_from_link(
    fetcher: "Fetcher", isolation: Isolation, url: str, *, now: datetime
) -> Headline:
    """Fetch the page at `url` and return its title as a headline, with its date if it has one.

    Takes ten seconds at most. Raises FetchError, also if the page is a login, a check for robots
    or an error.
    """
    host = shown_host(url)
    try:
        async with asyncio.timeout(PAGE_LIMITS.seconds):
            fetched = await fetcher.get(url, limits=PAGE_LIMITS, accept=PAGE_TYPES)
            content_type = fetched.headers.get("Content-Type")
            page = await isolation.run_isolated(read_page, fetched.body, content_type, now=now)
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
    headline = read_headline(_without_site(page), date=page.published)
    if not headline.text:
        raise FetchUntitled(
            Message("The page of {host} has no title.", host=host),
            fix=Message("Paste the headline instead."),
        )
    if _NO_ARTICLE.fullmatch(headline.text.strip(" .!?¿¡…")):
        raise FetchUntitled(
            Message("{host} does not show the article to me.", host=host),
            fix=Message("Paste the headline instead."),
        )
    return Headline(text=headline.text, original=url, date=headline.date)


def _without_site(page: Page) -> str:
    """Remove the site's name from the end of the title, if the page itself gives that name."""
    title = page.title or ""
    if not page.site or not title.lower().endswith(page.site.lower()):
        return title
    rest = title[: -len(page.site)]
    bare = rest.rstrip(_SEPARATORS)
    return bare if bare and bare != rest.rstrip() else title

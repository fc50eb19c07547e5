"""The values of a search of the web, its ports, and what providers are asked and answer."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from engine.errors import SettingsError
from engine.messages import Message
from engine.settings.fetching import WebSearchSettings
from engine.text.address import canonical_address
from engine.values import Usage

CACHED_FOR = timedelta(days=30)  # pages are kept for conditional requests after they are stale
_LONGEST_QUERY = 400  # characters that Brave and Tavily accept
_MAX_WORDS = 50  # that Brave accepts
_LONGEST_TITLE, LONGEST_TEXT = 300, 100_000  # characters
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]+")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """One result of a search provider."""

    url: str
    title: str
    text: str | None = None  # the page's text, if the provider returns it
    date: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """The answer of a search provider to one query."""

    results: tuple[WebResult, ...]  # best first
    cost_usd: float | None = None  # None = neither the provider nor the settings say


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page as it was fetched and as the cache keeps it."""

    url: str  # canonical address of where the fetch ended, after redirects
    title: str | None
    text: str
    author: str | None = None
    site: str | None = None
    date: datetime | None = None
    etag: str | None = None
    last_modified: str | None = None
    fetched_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """A page that was read. Its text is data: what it asks or claims is never an instruction."""

    url: str  # canonical address, from the record of fetches
    title: str
    text: str  # paragraphs separated by blank lines
    author: str | None = None
    site: str | None = None
    date: datetime | None = None
    query: str = ""  # the query that found it


@dataclass(frozen=True, slots=True, kw_only=True)
class WebFindings:
    """What was found for some queries: pages in order of their first query and rank."""

    pages: tuple[WebPage, ...] = ()
    provider: str | None = None  # that answered; None = no provider is set up, or none answered
    searches: int = 0  # requests to providers
    fetched: int = 0  # pages fetched over the network
    cached: int = 0  # pages taken from the cache
    usage: Usage | None = None  # cost of the searches, where a provider reports or settings name it
    notices: tuple[Message, ...] = ()  # what failed or was left out, and why


class WebCache(Protocol):
    """The pages that were fetched lately. Its methods raise what storage ports raise."""

    async def get(self, address: str) -> FetchedPage | None:
        """Return the page that was fetched from this canonical address, or None."""

    async def put(self, address: str, page: FetchedPage) -> None:
        """Store a page under the canonical address that it was asked for by."""

    async def forget(self, *, before: datetime, max_bytes: int) -> int:
        """Remove pages fetched before `before`, and the oldest ones beyond `max_bytes` of text.

        Returns how many were removed.
        """


class Web(Protocol):
    """The web, as far as a request may use it."""

    @property
    def available(self) -> bool:
        """Whether a provider is set up."""

    async def gather(
        self, queries: Sequence[str], *, deadline: float, now: datetime
    ) -> WebFindings:
        """Search for all queries at once and read the pages found, within `deadline` seconds.

        Never raises because of a provider or a page: what failed is told in the notices.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRequest:
    """An HTTP request, without what authenticates it: GET with `query`, else POST with `body`."""

    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How one provider is asked, and where its answer holds the results."""

    name: str
    url: str  # "" = the settings name it
    key_variable: str  # "" = no key
    headers: Callable[[str], Mapping[str, str]]  # for a key
    request: Callable[[str, int], ProviderRequest]  # for a query and a limit
    results: Callable[[Mapping[str, Any]], Iterable[WebResult]]
    signs: frozenset[str] = frozenset({"results"})  # an answer has one of these keys
    cost: Callable[[Mapping[str, Any]], float | None] = lambda _: None


def shorten_query(query: str) -> str:
    """Return a query that every provider accepts: one line, 50 words, 400 characters."""
    line = " ".join(_UNPRINTABLE.sub(" ", query).split()[:_MAX_WORDS])
    return line if len(line) <= _LONGEST_QUERY else line[:_LONGEST_QUERY].rpartition(" ")[0]


def _read_list(*path: str, **keys: str) -> Callable[[Mapping[str, Any]], Iterable[WebResult]]:
    """Return a function that reads the results under a path, whose fields have these names."""

    def read(payload: Mapping[str, Any]) -> Iterable[WebResult]:
        value: object = payload
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        for entry in value if isinstance(value, list) else ():
            if isinstance(entry, Mapping):
                named = {name: entry.get(key) for name, key in keys.items()}
                yield from _read_result(entry, **named)

    return read


def _exa_cost(payload: Mapping[str, Any]) -> float | None:
    costs = payload.get("costDollars")
    total = costs.get("total") if isinstance(costs, Mapping) else None
    is_cost = isinstance(total, int | float) and not isinstance(total, bool) and 0 <= total < 100
    return float(total) if is_cost and total is not None else None


def _read_result(
    entry: Mapping[str, Any], *, url: object = None, text: object = None, date: object = None
) -> Iterable[WebResult]:
    """Yield the result, unless its address is unusable."""
    address = url or entry.get("url")
    address = canonical_address(address) if isinstance(address, str) else None
    if not address:
        return
    title = entry.get("title")
    shown = title[: 2 * _LONGEST_TITLE] if isinstance(title, str) else ""
    written = text[:LONGEST_TEXT] if isinstance(text, str) else ""
    written = _UNPRINTABLE.sub("", written.replace("\r", ""))
    yield WebResult(
        url=address,
        title=" ".join(_UNPRINTABLE.sub(" ", shown).split())[:_LONGEST_TITLE],
        text=_BLANK_LINES.sub("\n\n", written).strip() or None,
        date=_read_iso_date(date),
    )


def _read_iso_date(value: object) -> datetime | None:
    """Read an ISO date or time, in UTC unless it says otherwise."""
    try:
        date = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:  # "3 days ago"
        return None
    return date.replace(tzinfo=UTC) if date and date.tzinfo is None else date


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form(
            name="exa",
            url="https://api.exa.ai/search",
            key_variable="EXA_API_KEY",
            headers=lambda key: {"x-api-key": key},
            request=lambda query, limit: ProviderRequest(
                body={
                    "query": query,
                    "numResults": limit,
                    "contents": {"text": {"maxCharacters": 20_000}},
                }
            ),
            results=_read_list("results", text="text", date="publishedDate"),
            cost=_exa_cost,
        ),
        Form(
            name="serper",
            url="https://google.serper.dev/search",
            key_variable="SERPER_API_KEY",
            headers=lambda key: {"X-API-KEY": key},
            request=lambda query, limit: ProviderRequest(body={"q": query, "num": limit}),
            results=_read_list("organic", url="link"),
            signs=frozenset({"organic", "searchParameters"}),
        ),
        Form(
            name="brave",
            url="https://api.search.brave.com/res/v1/web/search",
            key_variable="BRAVE_API_KEY",
            headers=lambda key: {"X-Subscription-Token": key},
            request=lambda query, limit: ProviderRequest(
                query={"q": query, "count": limit, "text_decorations": "false"}
            ),
            results=_read_list("web", "results", date="page_age"),
            signs=frozenset({"web", "query"}),  # without results there is no "web"
        ),
        Form(
            name="tavily",
            url="https://api.tavily.com/search",
            key_variable="TAVILY_API_KEY",
            headers=lambda key: {"Authorization": f"Bearer {key}"},
            # An advanced search would cost two credits.
            request=lambda query, limit: ProviderRequest(
                body={"query": query, "max_results": limit, "search_depth": "basic"}
            ),
            results=_read_list("results", date="published_date"),
        ),
        Form(
            name="searxng",
            url="",
            key_variable="",
            headers=lambda _: {},
            request=lambda query, _: ProviderRequest(query={"q": query, "format": "json"}),
            results=_read_list("results", date="publishedDate"),
        ),
    )
}


def usable_key(form: Form, key: str | None) -> str:
    """Return the key to send, "" if the provider needs none.

    Raises SettingsError if it is missing or cannot be sent.
    """
    if not form.key_variable:
        return ""
    if not key:
        raise SettingsError(
            Message("[web_search] providers names {name}, which needs a key.", name=form.name),
            fix=Message("Set {variable}.", variable=form.key_variable),
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(
            Message("The API key holds spaces, line breaks or non-ASCII characters."),
            fix=Message("Set {variable} to the key alone.", variable=form.key_variable),
        )
    return key


def searxng_address(settings: WebSearchSettings) -> str:
    """Return the address to search at. Raises SettingsError if there is none."""
    if not settings.searxng_url:
        raise SettingsError(
            Message("[web_search] providers names searxng, but searxng_url is empty."),
            fix=Message("Set it to the address of your instance."),
        )
    return f"{settings.searxng_url.rstrip('/')}/search"

"""Several search providers in order: the next one answers where one fails."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import httpx

from engine.errors import (
    WebSearchError,
    WebSearchLimited,
    WebSearchRefused,
    WebSearchSpent,
    WebSearchUnreachable,
)
from engine.fetch import requested_pause
from engine.llm.endpoint import quote_answer, what_happened
from engine.llm.wire import decode, said_by
from engine.messages import Message
from engine.settings.fetching import WebSearchSettings
from engine.web.results import (
    FORMS,
    WebAnswer,
    WebResult,
    searxng_address,
    shorten_query,
    usable_key,
)

# Seconds for which a provider is left alone, where it does not say itself.
_SPENT, _REFUSED, _UNREACHABLE, _LIMITED = 3600.0, 600.0, 30.0, 10.0
_LONGEST_REST = 24 * 3600.0

_SPENT_STATUSES = frozenset({402, 432, 433})  # the last two are Tavily's
_SPENT_WORDS = re.compile(
    r"no[_ ]more[_ ]credits|not enough credits|insufficient (?:credits|balance)"
    r"|quota[_ ](?:limited|exceeded)|exceed(?:s|ed|ing)? (?:your|the) (?:plan|quota|monthly)",
    re.IGNORECASE,
)
# Brave answers 422.
_KEY_WORDS = re.compile(r"(?:api key|token) (?:is|was) (?:not valid|invalid)", re.IGNORECASE)
_MAX_BYTES = 4_000_000  # Exa sends the pages too


def status_error(
    provider: str,
    status: int,
    answer: str,
    *,
    headers: Mapping[str, str],
    key: str | None,
    key_variable: str,
    now: datetime,
) -> WebSearchError:
    """Map an answer with an HTTP status other than 200.

    `answer` is the provider's own text; it is masked and cut before it is quoted.
    """
    message = _say_status(provider, status, quote_answer(answer, key))
    wait = requested_pause(headers.get("retry-after"), now)
    month = _reset_of_the_month(headers) if status == 429 else None
    is_spent = 400 <= status < 500 and bool(_SPENT_WORDS.search(answer))
    if status in _SPENT_STATUSES or is_spent or month is not None:
        return WebSearchSpent(
            message,
            fix=Message("Add credit to the account."),
            rest=_choose_rest(month or wait, _SPENT),
        )
    if status == 429:
        resets = _parse_figures(headers.get("x-ratelimit-reset"))
        # A single figure is often a time of day.
        rest = _choose_rest(wait or (resets[0] if len(resets) > 1 else None), _LIMITED)
        return WebSearchLimited(message, fix=Message("Wait a little."), rest=rest)
    if status == 408 or status >= 500:
        rest = _choose_rest(wait, _UNREACHABLE)
        return WebSearchUnreachable(message, fix=Message("Try again later."), rest=rest)
    if status in (401, 403) or _KEY_WORDS.search(answer):
        fix = Message("Allow the format json in the settings of searxng.")
        if key_variable:
            fix = Message("Check {variable}.", variable=key_variable)
        return WebSearchRefused(message, fix=fix, rest=_REFUSED)
    # It may be this query alone that the provider does not like.
    return WebSearchRefused(message)


def _say_status(provider: str, status: int, quoted: str) -> Message:
    did = what_happened(status)
    if status in _SPENT_STATUSES:
        did = Message("says that the credit is spent")
    head = Message("{host} {did} ({status})", host=provider, did=did, status=status)
    if quoted:
        return Message("{head}: {quoted}", head=head, quoted=quoted)
    return Message("{head}.", head=head)


def _reset_of_the_month(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the quota of Brave's month is new, or None if some of it is left.

    Its headers hold a figure for each window, the second first: "0, 812" and "1, 1419704".
    """
    left = _parse_figures(headers.get("x-ratelimit-remaining"))
    resets = _parse_figures(headers.get("x-ratelimit-reset"))
    if len(left) < 2 or left[-1] > 0:
        return None
    return resets[-1] if len(resets) == len(left) else _SPENT


def _parse_figures(header: str | None) -> list[float]:
    parts = [part.strip() for part in (header or "").split(",")]
    return [float(part) for part in parts] if all(part.isdecimal() for part in parts) else []


def _choose_rest(seconds: float | None, otherwise: float) -> float:
    return min(max(1.0, seconds), _LONGEST_REST) if seconds is not None else otherwise


class HttpSearch:
    """Asks one provider. It holds connections: close it. Raises SettingsError for a bad key."""

    def __init__(
        self, provider: str, settings: WebSearchSettings, *, key: str | None, url: str | None = None
    ) -> None:
        """`url` replaces the provider's own address."""
        self._form = form = FORMS[provider]
        self._settings = settings
        self._key = usable_key(form, key)
        self._url = url or form.url or searxng_address(settings)
        # trust_env off: a proxy or .netrc of the machine must not see or replace the key.
        self._http = httpx.AsyncClient(
            trust_env=False,
            headers=dict(form.headers(self._key)),
            timeout=httpx.Timeout(settings.timeout),
        )

    @property
    def name(self) -> str:
        """Name for logs and notices."""
        return self._form.name

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def search(self, query: str, *, limit: int, now: datetime) -> WebAnswer:
        """Return at most `limit` results, with their cost. Raises WebSearchError."""
        try:
            async with asyncio.timeout(self._settings.timeout):
                status, headers, content = await self._request_results(shorten_query(query), limit)
        except (TimeoutError, httpx.TimeoutException) as exc:
            seconds = self._settings.timeout
            reason = Message("no answer within {seconds:g} s.", seconds=seconds)
            raise self._unreachable(reason) from exc
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as exc:
            reason = Message("no connection ({name}).", name=type(exc).__name__)
            raise self._unreachable(reason) from exc
        if status != httpx.codes.OK:
            raise status_error(
                self.name,
                status,
                said_by(content),
                headers=headers,
                key=self._key,
                key_variable=self._form.key_variable,
                now=now,
            )
        payload = decode(content)
        if payload is None or not self._form.signs & payload.keys():
            raise self._unreadable()
        results = tuple(islice(self._form.results(payload), limit))
        silent = payload.get("unresponsive_engines")
        if not results and silent and self.name == "searxng":
            raise _engines_suspended(silent)
        cost = self._form.cost(payload)
        return WebAnswer(
            results=results, cost_usd=self._settings.usd.get(self.name) if cost is None else cost
        )

    async def _request_results(self, query: str, limit: int) -> tuple[int, httpx.Headers, bytes]:
        request = self._form.request(query, limit)
        method = "GET" if request.body is None else "POST"
        content = bytearray()
        async with self._http.stream(
            method, self._url, params=dict(request.query) or None, json=request.body
        ) as response:
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > _MAX_BYTES:
                    raise self._unreadable()
            return response.status_code, response.headers, bytes(content)

    def _unreachable(self, reason: Message) -> WebSearchUnreachable:
        """Return the error for a connection that failed, was lost or timed out."""
        return WebSearchUnreachable(
            Message("{host}: {reason}", host=self.name, reason=reason),
            fix=Message("Try again later."),
            rest=_UNREACHABLE,
        )

    def _unreadable(self) -> WebSearchError:
        message = Message("The answer of {host} holds no results of a search.", host=self.name)
        return WebSearchError(message, rest=_UNREACHABLE)


def _engines_suspended(silent: object) -> WebSearchError:
    """Return the error for a SearXNG whose engines [["google", "timeout"], ...] have all failed."""
    listed = silent if isinstance(silent, list) else []
    names = (str(entry[0])[:40] for entry in listed if isinstance(entry, list) and entry)
    return WebSearchUnreachable(
        Message("No engine of searxng answered: {engines}.", engines=", ".join(islice(names, 5))),
        fix=Message("Enable other engines in its settings."),
        rest=_UNREACHABLE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """What became of one query."""

    results: tuple[WebResult, ...] = ()
    provider: str | None = None  # that answered
    cost_usd: float | None = None
    requests: int = 0  # to providers, failed ones included
    notices: tuple[Message, ...] = ()  # why others did not answer


class Providers:
    """Asks providers in order. One that failed rests as long as its error says.

    A provider that is out of credits is left alone for an hour or more, as asking it again would
    only take time. `clock` returns monotonic seconds. `failed` is called with each error, also
    where the next provider answers.
    """

    def __init__(
        self,
        providers: Sequence[HttpSearch],
        *,
        clock: Callable[[], float],
        failed: Callable[[WebSearchError], None] = lambda _: None,
    ) -> None:
        self._providers = providers
        self._clock = clock
        self._failed = failed
        self._resting: dict[str, tuple[float, Message]] = {}  # until when, and why

    @property
    def available(self) -> bool:
        """Whether there is any provider."""
        return bool(self._providers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the providers, in order."""
        return tuple(provider.name for provider in self._providers)

    async def search(self, query: str, *, limit: int, now: datetime) -> SearchOutcome:
        """Return the answer of the first provider that gives one. Raises no WebSearchError."""
        notices: list[Message] = []
        requests = 0
        for provider in self._providers:
            until, reason = self._resting.get(provider.name, (0.0, None))
            if reason and self._clock() < until:
                notices.append(reason)
                continue
            requests += 1
            try:
                answer = await provider.search(query, limit=limit, now=now)
            except WebSearchError as error:
                self._failed(error)
                if error.rest:
                    self._resting[provider.name] = (self._clock() + error.rest, error.full_message)
                notices.append(error.full_message)
                continue
            return SearchOutcome(
                results=answer.results,
                provider=provider.name,
                cost_usd=answer.cost_usd,
                requests=requests,
                notices=tuple(notices),
            )
        return SearchOutcome(requests=requests, notices=tuple(notices))

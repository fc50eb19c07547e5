"""The state that all web routes share: the API keys, the server's names, its limits."""

import hashlib
import hmac
import re
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Self, TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr

from bot.adapter import AdapterStatus
from bot.app import App
from bot.commands.services import ReadHeadline
from bot.listening import network_of
from bot.pace import RateLimit
from bot.query_log import asked_by, asker, log_of, log_search, search_logged
from bot.settings import Settings
from bot.settings.sections import WebSettings
from bot.web.failures import Refusal, too_many
from bot.web.metrics import Metrics
from bot.web.streaming import SharedWork
from db.corpus.corpora import Corpora
from db.logs import SearchJob
from db.pool import Database
from engine.budget import BudgetSource
from engine.corpora import ALL, corpora_of_kind, corpus_named
from engine.errors import SeveralCorpora
from engine.messages import Message
from engine.prophecy.merge import prophesy_from_all
from engine.prophecy.prophecy import Prophet
from engine.search import Prophecy, SearchRequest
from engine.values import Corpus, Kind

_KEPT_SECONDS = 300.0
_MOST_KEPT = 1000  # values
_PORT = re.compile(r":\d+$")
Value = TypeVar("Value")

_bearer = HTTPBearer(
    auto_error=False, description="A key of WEB_API_KEYS or WEB_ADMIN_KEYS, where they are set."
)
_OWN_SITE = (None, "same-origin", "none")  # no browser, this site, what somebody typed
_ASK_FOR_KEY = {"WWW-Authenticate": "Bearer"}
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


class Right(IntEnum):
    """What a key permits; each right includes the lower ones."""

    NONE = 0
    ASK = 1
    STEER = 2


class Keys:
    """The keys that are accepted. Only their hashes are kept."""

    def __init__(self, ask: SecretStr | None = None, steer: SecretStr | None = None) -> None:
        self._known = [
            *((_digest(key), Right.ASK) for key in _split_keys(ask)),
            *((_digest(key), Right.STEER) for key in _split_keys(steer)),
        ]

    def asks_for_keys(self) -> bool:
        """Tell whether the API requires a key at all."""
        return any(right is Right.ASK for _, right in self._known)

    def right_of(self, key: str | None) -> Right:
        """Return the right of a key, or without one, the right that everybody has."""
        if key is None:
            return Right.NONE if self.asks_for_keys() else Right.ASK
        given, found = _digest(key), Right.NONE
        for known, right in self._known:  # all are compared, whichever matches
            if hmac.compare_digest(known, given):
                found = max(found, right)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNames:
    """By which names this server is meant, and which pages are its own or are let in."""

    hosts: frozenset[str]  # beside those of this machine
    address: str  # of the page, as people reach it; "" if it is not set
    origin: str  # of the same
    origins: frozenset[str]  # of other pages that may ask

    @classmethod
    def of(cls, web: WebSettings) -> Self:
        """Return what the settings name."""
        address = web.public_url.rstrip("/")
        named = {_host_name(urlsplit(address).netloc), *map(_host_name, web.hosts)}
        return cls(
            hosts=frozenset(named - {""}),
            address=address,
            origin=_origin_of(address),
            origins=frozenset(web.allow_origins),
        )

    def answers_to(self, host: str, *, arrived_at: str) -> bool:
        """Tell whether a request for this host, with or without a port, is meant for this server.

        The names and addresses of this machine are, among them the one that the request reached.
        """
        name = _host_name(host)
        if not name or name in self.hosts or name == "localhost":
            return bool(name)
        address = _read_address(name)
        return address is not None and (address.is_loopback or address == _read_address(arrived_at))

    def sends(self, page: str, *, host: str, named_may: bool) -> bool:
        """Tell whether a request for this host may come from the page of this origin: one of this
        server or, where `named_may` is true, one that the settings name."""
        own = page.partition("://")[2] == host or page == self.origin
        return own or (named_may and not self.origins.isdisjoint((page, "*")))


def _host_name(host: str) -> str:
    """Return the name in HOST or HOST:PORT as browsers write it, or "" if there is none."""
    try:
        bare = host if _read_address(host) else urlsplit(f"//{host}").hostname or ""
        name = bare if bare.isascii() else bare.encode("idna").decode()
    except ValueError:
        return ""
    return str(_read_address(name) or name.removesuffix("."))


def _origin_of(address: str) -> str:
    """Return the origin of a page as browsers write it: without the port that is meant anyway."""
    scheme, _, rest = address.partition("://")
    name, port = _host_name(rest.partition("/")[0]), _PORT.search(rest.partition("/")[0])
    name = f"[{name}]" if ":" in name else name
    meant = {"http": ":80", "https": ":443"}.get(scheme)
    return f"{scheme}://{name}{port.group() if port and port.group() != meant else ''}"


def _read_address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _split_keys(keys: SecretStr | None) -> Iterable[str]:
    written = keys.get_secret_value() if keys else ""
    return filter(None, (key.strip() for key in written.split(",")))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class ShownCorpora(Corpora):
    """The corpora that are named, or without names all but those of private texts."""

    def __init__(self, database: Database, names: Collection[str]) -> None:
        super().__init__(database)
        self._names = names

    async def list(self) -> list[Corpus]:
        """Return the shown corpora, ordered by name."""
        return [corpus for corpus in await super().list() if self._may_be_seen(corpus)]

    async def get(self, name: str) -> Corpus:
        """Return the corpus called `name`. Raises CorpusNotFound."""
        return corpus_named(await self.list(), name)

    def _may_be_seen(self, corpus: Corpus) -> bool:
        return corpus.name in self._names if self._names else not corpus.private


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """How often one address may ask at all, and for expensive answers."""

    requests: RateLimit
    answers: RateLimit


@dataclass(slots=True)
class CachedCounts:
    """Keeps what takes long to count, for some time and in bounded memory."""

    clock: Callable[[], float]
    _values: dict[Hashable, tuple[float, Any]] = field(default_factory=dict)

    async def get(
        self,
        key: Hashable,
        count: Callable[[], Awaitable[Value]],
        *,
        seconds: float = _KEPT_SECONDS,
    ) -> Value:
        """Return the value of a key; it is counted if it is not known or too old."""
        now = self.clock()
        if (known := self._values.get(key)) and now < known[0]:
            kept: Value = known[1]
            return kept
        counted = await count()
        if len(self._values) >= _MOST_KEPT:
            self._values.clear()
        self._values[key] = (now + seconds, counted)
        return counted


@dataclass(slots=True, kw_only=True)
class SharedState:
    """Only the settings change, on a reload. `app` sees only the corpora that may be shown."""

    app: App
    now: Callable[[], datetime]
    metrics: Metrics
    read_headline: ReadHeadline
    reload_settings: Callable[[], Settings]
    adapters: Callable[[], Mapping[str, AdapterStatus]] = dict
    clock: Callable[[], float] = time.monotonic
    keys: Keys = field(init=False)
    own: OwnNames = field(init=False)
    limits: RateLimits = field(init=False)
    kept: CachedCounts = field(init=False)
    # Of the page, by what was asked: who looks, shares or votes on an answer waits for the same.
    prophecies: SharedWork[Prophecy] = field(init=False, default_factory=SharedWork)
    patience: float = 0.1  # seconds that a visitor sees nothing while a model judges

    def __post_init__(self) -> None:
        secrets = self.app.settings.secrets
        self.kept = CachedCounts(self.clock)
        self.keys = Keys(secrets.web_api_keys, secrets.web_admin_keys)
        self.use(self.app.settings)

    @property
    def settings(self) -> Settings:
        """Return the current settings."""
        return self.app.settings

    def use(self, settings: Settings) -> None:
        """Apply these settings from now on; request counts restart."""
        web = settings.web
        shown = ShownCorpora(self.app.database, web.corpora)
        self.app = replace(self.app, settings=settings, corpora=shown)
        self.own = OwnNames.of(web)
        self.limits = RateLimits(
            requests=RateLimit(web.requests_per_minute), answers=RateLimit(web.answers_per_minute)
        )

    async def choose_corpora(self, name: str = "", kind: Kind | None = None) -> list[Corpus]:
        """Return the corpora, of a kind or of any, that a program asks: the one it names, or with
        "all" every archive, which is also meant where it names none and several fit.

        Raises CorpusNotFound, NotAnswerable if the named one is of another kind, StorageError.
        """
        try:
            if kind and name != ALL:
                return [await self.app.corpus(name, kinds=[kind])]
            chosen = await self.app.choose_corpora(name)
        except SeveralCorpora:
            chosen = await self.app.choose_corpora(ALL)
        return corpora_of_kind(chosen, kind) if kind else chosen

    async def prophesy(
        self, corpus: Corpus, request: SearchRequest, searcher: Prophet | None = None
    ) -> Prophecy:
        """Answer a headline, by `searcher` if there is one, and log it. Raises StorageError."""
        return await self.prophesy_from([corpus], request, searcher or self.app.prophet)

    async def prophesy_from(
        self, corpora: Sequence[Corpus], request: SearchRequest, searcher: Prophet
    ) -> Prophecy:
        """Answer a headline from several corpora, of which there is at least one, and log it."""
        weights = self.app.prophet.score.weights
        return await log_search(
            SearchJob.SEARCH,
            request.headline.text,
            prophesy_from_all(searcher, corpora, request, weights),
            search_logged,
            log=log_of(self.app.database, self.settings),
            settings=self.settings,
            corpus=corpora[0].name if len(corpora) == 1 else ALL,
        )


async def read_credentials(request: Request) -> HTTPAuthorizationCredentials | None:
    """Return the key that a request carries, for handlers outside the framework."""
    return await _bearer(request)


async def shared_of(request: Request) -> SharedState:
    """Return the state that the routes share."""
    shared: SharedState = request.app.state.shared
    return shared


SharedOf = Annotated[SharedState, Depends(shared_of)]


def require_own_name(headers: Mapping[str, str], own: OwnNames, *, arrived_at: str) -> None:
    """Refuse a request for another host. `arrived_at` is the address of this machine it reached.

    Raises Refusal.
    """
    if not own.answers_to(headers.get("host", ""), arrived_at=arrived_at):
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            Message("This name does not lead here."),
            fix=Message("Use localhost, or name it in web.public_url or web.hosts."),
        )


def require_own_page(
    headers: Mapping[str, str], method: str, own: OwnNames, *, named_may: bool
) -> None:
    """Refuse what a page of another site makes a visitor's browser send, except that somebody
    follows a link. Pages that the settings name may ask it where `named_may` is true.

    Clients that are no browsers tell of no page. Raises Refusal.
    """
    page = headers.get("origin")
    if page is None:
        others = headers.get("sec-fetch-site") not in _OWN_SITE and not _follows_link(
            headers, method
        )
    else:
        others = not own.sends(page, host=headers.get("host", ""), named_may=named_may)
    if others:
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            Message("Pages of other sites may link here, and nothing else."),
            fix=Message("Name the page in web.allow_origins.") if named_may else None,
        )


def _follows_link(headers: Mapping[str, str], method: str) -> bool:
    """Tell whether a browser opens the address as a page, and not as a part of one or ahead."""
    return (
        method == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "prefetch" not in headers.get("sec-purpose", headers.get("purpose", ""))
    )


async def limit_requests(request: Request, shared: SharedOf) -> None:
    """Refuse addresses that ask too often."""
    if wait := shared.limits.requests.wait(network_of(client_address(request)), shared.clock()):
        raise too_many(wait)


async def limit_answers(request: Request, shared: SharedOf) -> None:
    """Refuse addresses that ask too often for expensive answers."""
    if wait := shared.limits.answers.wait(network_of(client_address(request)), shared.clock()):
        raise too_many(wait)


async def may_ask(shared: SharedOf, given: Credentials) -> AsyncIterator[None]:
    """Let through requests that may use the API; those with a key spend the API's budget."""
    if shared.keys.right_of(given.credentials if given else None) < Right.ASK:
        raise _no_key(given)
    with asked_by(replace(asker(), source=BudgetSource.API if given else BudgetSource.WEB)):
        yield


async def require_admin_key(shared: SharedOf, given: Credentials) -> None:
    """Let through requests whose key may change how this process answers."""
    if given is None:
        raise _no_key(given)
    right = shared.keys.right_of(given.credentials)
    if right is Right.NONE:
        raise _no_key(given)
    if right < Right.STEER:
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            Message("This key may ask, but not steer."),
            fix=Message("Use a key of WEB_ADMIN_KEYS."),
        )


def _no_key(given: HTTPAuthorizationCredentials | None) -> Refusal:
    return Refusal(
        HTTPStatus.UNAUTHORIZED,
        Message("A key is needed.") if given is None else Message("There is no such key."),
        fix=Message("Send the header: Authorization: Bearer KEY"),
        headers=_ASK_FOR_KEY,
    )


def client_address(request: Request) -> str:
    """Return the address of the client, as trusted proxies report it."""
    return request.client.host if request.client else ""

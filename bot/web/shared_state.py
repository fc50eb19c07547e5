"""The state that all web routes share: the app, its limits, and what is kept for them."""

import asyncio
import time
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, TypeVar
from weakref import WeakValueDictionary

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from bot.adapter import AdapterStatus
from bot.app import App
from bot.listening import network_of
from bot.pace import RateLimit
from bot.query_log import add_prophecy, asked_by, current_asker
from bot.settings import Settings, load_settings
from bot.web.access import Keys, OwnNames, Right
from bot.web.failures import Refusal, too_many
from bot.web.metrics import Metrics
from bot.web.streaming import SharedWork
from db.corpus.corpora import Corpora
from db.logs import SearchJob
from db.pool import Database
from db.search.shown import DocumentLookup
from engine.budget import BudgetSource
from engine.compose.composition import Composition
from engine.corpora import ALL, find_corpus_named, list_corpora_of_kind
from engine.errors import SeveralCorpora
from engine.messages import Message
from engine.prophecy.prophecy import Prophet, prophesy_from_all
from engine.search import Prophecy, SearchRequest
from engine.values import Corpus, Kind

_KEPT_SECONDS = 300.0
_LONGEST_SEARCH = 10.0  # seconds for whoever has no key, with the wait for its turn
_REQUESTS_PER_SECOND = 10  # a second of searching counts as so many requests
_MAX_KEPT = 1000  # values
Value = TypeVar("Value")

read_credentials = HTTPBearer(
    auto_error=False, description="A key of WEB_API_KEYS or WEB_ADMIN_KEYS, where they are set."
)
_ASK_FOR_KEY = {"WWW-Authenticate": "Bearer"}
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(read_credentials)]


class ShownCorpora(Corpora):
    """The corpora that are named, or without names all but those of private texts."""

    def __init__(self, database: Database, names: Collection[str]) -> None:
        super().__init__(database)
        self._names = names

    async def list(self) -> list[Corpus]:
        """Return the shown corpora, ordered by name."""
        return [
            corpus
            for corpus in await super().list()
            if (corpus.name in self._names if self._names else not corpus.private)
        ]

    async def get(self, name: str) -> Corpus:
        """Return the corpus called `name`. Raises CorpusNotFound."""
        return find_corpus_named(await self.list(), name)


@dataclass(slots=True)
class CachedCounts:
    """Keeps what takes long to count, for some time and in bounded memory."""

    clock: Callable[[], float]
    _values: dict[Hashable, tuple[float, Any]] = field(default_factory=dict)  # with their ends

    async def get(
        self,
        key: Hashable,
        count: Callable[[], Awaitable[Value]],
        *,
        seconds: float = _KEPT_SECONDS,
    ) -> Value:
        """Return the value of a key; it is counted if it is not known or too old."""
        if self.holds(key):
            kept: Value = self._values[key][1]
            return kept
        ends, counted = self.clock() + seconds, await count()
        if len(self._values) >= _MAX_KEPT:
            self._values.clear()
        self._values[key] = (ends, counted)
        return counted

    def holds(self, key: Hashable) -> bool:
        """Return whether the value of a key is known and not too old."""
        return key in self._values and self.clock() < self._values[key][0]


class SharedState:
    """What all routes share. Only the settings change, on a reload.

    `app` sees only the corpora that may be shown. `adapters` returns the status of all adapters.
    """

    keys: Keys
    own: OwnNames
    requests: RateLimit  # of one address
    answers: RateLimit  # of the same, those that are expensive

    def __init__(
        self,
        app: App,
        metrics: Metrics,
        *,
        now: Callable[[], datetime],
        adapters: Callable[[], Mapping[str, AdapterStatus]] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app = app
        self.metrics = metrics
        self.now = now
        self.adapters = adapters
        self.clock = clock
        self.reload_settings: Callable[[], Settings] = partial(
            load_settings, app.settings.config_file
        )
        self.patience = 0.1  # seconds that a visitor sees nothing while a model judges
        # The turns of addresses to search.
        self.turns = WeakValueDictionary[str, asyncio.Lock]()
        self.kept = CachedCounts(clock)
        # Of the page, by what was asked: all who look at an answer, share it, or ask again after a
        # stream broke, wait for the same.
        self.prophecies = SharedWork[Prophecy]()
        self.compositions = SharedWork[Composition]()
        secrets = app.settings.secrets
        self.keys = Keys(secrets.web_api_keys, secrets.web_admin_keys)
        self.apply_settings(app.settings)

    @property
    def settings(self) -> Settings:
        """Return the current settings."""
        return self.app.settings

    def apply_settings(self, settings: Settings) -> None:
        """Apply these settings from now on; request counts restart."""
        web = settings.web
        corpora = ShownCorpora(self.app.database, web.corpora)
        self.app = replace(self.app, settings=settings, corpora=corpora)
        self.own = OwnNames.of(web)
        self.requests = RateLimit(web.requests_per_minute)
        self.answers = RateLimit(web.answers_per_minute)

    async def choose_corpora(self, name: str = "", kind: Kind | None = None) -> list[Corpus]:
        """Return the corpora, of a kind or of any, that a program asks: the one it names, or with
        "all" every archive, which is also meant where it names none and several fit.

        Raises CorpusNotFound, NotAnswerable if the named one is of another kind, StorageError.
        """
        try:
            if kind and name != ALL:
                return [await self.app.corpus(name, kinds=[kind])]
            corpora = await self.app.choose_corpora(name)
        except SeveralCorpora:
            corpora = await self.app.choose_corpora(ALL)
        return list_corpora_of_kind(corpora, kind) if kind else corpora

    async def count_months(self, corpus: Corpus) -> Mapping[str, int]:
        """Return the months in which there are texts ("2015-03"), with their number, which may be
        some minutes old. Raises StorageError."""
        count = partial(DocumentLookup(self.app.database).months, corpus)
        return await self.kept.get(("months", corpus.id, corpus.documents), count)

    async def prophesy_from(
        self, corpora: Sequence[Corpus], request: SearchRequest, searcher: Prophet
    ) -> Prophecy:
        """Answer a headline from several corpora, of which there is at least one, and log it."""
        return await self.app.log_search(
            SearchJob.SEARCH,
            request.headline.text,
            prophesy_from_all(searcher, corpora, request),
            add_prophecy,
            corpus=corpora[0].name if len(corpora) == 1 else ALL,
        )


async def shared_of(request: Request) -> SharedState:
    """Return the state that the routes share."""
    shared: SharedState = request.app.state.shared
    return shared


SharedOf = Annotated[SharedState, Depends(shared_of)]


async def limit_requests(request: Request, shared: SharedOf) -> None:
    """Refuse addresses that ask too often."""
    _keep_pace(shared.requests, request, shared)


async def limit_answers(request: Request, shared: SharedOf) -> None:
    """Refuse addresses that ask too often for expensive answers."""
    _keep_pace(shared.answers, request, shared)


async def take_turn(request: Request, shared: SharedOf) -> AsyncIterator[None]:
    """Let an address without a key search once at a time and not for long, and count the time that
    it takes, so that it leaves the database to others. Raises Refusal."""
    if current_asker().source is BudgetSource.API:
        yield
        return
    address = network_of(client_address(request))
    turn = shared.turns.setdefault(address, asyncio.Lock())
    try:
        async with asyncio.timeout(_LONGEST_SEARCH), turn:
            started = shared.clock()
            try:
                yield
            finally:
                ended = shared.clock()
                shared.requests.charge(address, (ended - started) * _REQUESTS_PER_SECOND, ended)
    except TimeoutError:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            Message("That takes too long here."),
            fix=Message("Ask for rarer words, or for a shorter time."),
            headers={"Retry-After": "5"},
        ) from None


# Ends with the work, not with the answer: an error of it is still to be told.
SEARCHES = Depends(take_turn, scope="function")


def _keep_pace(rate: RateLimit, request: Request, shared: SharedState) -> None:
    if wait := rate.wait(network_of(client_address(request)), shared.clock()):
        raise too_many(wait)


async def may_ask(shared: SharedOf, given: Credentials) -> AsyncIterator[None]:
    """Let through requests that may use the API; those with a key spend the API's budget."""
    if shared.keys.right_of(given.credentials if given else None) < Right.ASK:
        raise _no_key(given)
    with asked_by(replace(current_asker(), source=BudgetSource.API if given else BudgetSource.WEB)):
        yield


async def refuse_repeats(request: Request) -> None:
    """Refuse a parameter that is given twice, of which the framework would take the last."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    for name, times in given.items():
        if times > 1:
            raise Refusal(
                HTTPStatus.BAD_REQUEST,
                Message("The parameter {name} is given {times} times.", name=name, times=times),
                fix=Message("Give it once."),
            )


async def require_admin_key(shared: SharedOf, given: Credentials) -> None:
    """Let through requests whose key may change how this process answers."""
    right = shared.keys.right_of(given.credentials) if given else Right.NONE
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

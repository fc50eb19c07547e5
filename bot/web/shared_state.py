"""The state that all routes of the web face share, and the API keys."""

import hashlib
import hmac
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
)
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr

from bot.adapter import FaceStatus
from bot.app import App
from bot.commands.services import ReadHeadline
from bot.listening import RateLimit, network_of
from bot.query_log import asked_by, asker, log_of, logged
from bot.settings import Settings
from bot.web.failures import Refusal, too_many
from bot.web.metrics import Metrics
from db.corpus.corpora import Corpora
from db.pool import Database
from engine.budget import BudgetSource
from engine.corpora import corpus_named
from engine.errors import SeveralCorpora, UsageError
from engine.messages import Message
from engine.prophecy.prophecy import Prophet
from engine.search import Prophecy, SearchRequest
from engine.search_log import SearchJob, search_logged
from engine.values import Corpus, Kind

_KEPT_SECONDS = 300.0
_MOST_KEPT = 1000  # values
Value = TypeVar("Value")


class Right(IntEnum):
    """What a key permits; each right includes the lower ones."""

    NONE = 0
    ASK = 1
    STEER = 2


class Keys:
    """The keys that are accepted. Only their hashes are kept."""

    def __init__(self, ask: SecretStr | None = None, steer: SecretStr | None = None) -> None:
        self._known = [
            *((_digest(key), Right.ASK) for key in _listed(ask)),
            *((_digest(key), Right.STEER) for key in _listed(steer)),
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


def _listed(keys: SecretStr | None) -> Iterable[str]:
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
        return [one for one in await super().list() if self._may_be_seen(one)]

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
class Kept:
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
    faces: Callable[[], Mapping[str, FaceStatus]] = dict
    clock: Callable[[], float] = time.monotonic
    keys: Keys = field(init=False)
    limits: RateLimits = field(init=False)
    kept: Kept = field(init=False)

    def __post_init__(self) -> None:
        secrets = self.app.settings.secrets
        self.kept = Kept(self.clock)
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
        self.limits = RateLimits(
            requests=RateLimit(web.requests_per_minute), answers=RateLimit(web.answers_per_minute)
        )

    async def corpus(self, name: str = "", kind: Kind | None = None) -> Corpus:
        """Return the corpus called `name`, or the default one, of a given kind if one is asked for.

        Raises CorpusNotFound, UsageError when several fit or it is of another kind, StorageError.
        """
        try:
            return await self.app.corpus(name, kinds=(kind,) if kind else ())
        except SeveralCorpora as error:
            raise UsageError(error.message, fix=Message("Name one with corpus=NAME.")) from None

    async def prophesy(
        self, corpus: Corpus, request: SearchRequest, searcher: Prophet | None = None
    ) -> Prophecy:
        """Answer a headline, by `searcher` if there is one, and log it. Raises StorageError."""
        return await logged(
            SearchJob.SEARCH,
            request.headline.text,
            (searcher or self.app.prophet).prophesy(corpus, request),
            search_logged,
            log=log_of(self.app.database, self.settings),
            settings=self.settings,
            corpus=corpus.name,
        )


_bearer = HTTPBearer(
    auto_error=False, description="A key of WEB_API_KEYS or WEB_ADMIN_KEYS, where they are set."
)
_ASK_FOR_KEY = {"WWW-Authenticate": "Bearer"}
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


async def credentials_of(request: Request) -> HTTPAuthorizationCredentials | None:
    """Return the key that a request carries, for handlers outside the framework."""
    return await _bearer(request)


async def shared_of(request: Request) -> SharedState:
    """Return the state that the routes share."""
    shared: SharedState = request.app.state.shared
    return shared


SharedOf = Annotated[SharedState, Depends(shared_of)]


async def paced(request: Request, shared: SharedOf) -> None:
    """Refuse addresses that ask too often."""
    if wait := shared.limits.requests.wait(network_of(client_address(request)), shared.clock()):
        raise too_many(wait)


async def paced_answers(request: Request, shared: SharedOf) -> None:
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

"""What all routes of the web face share, and the keys by which it is used."""

import hashlib
import hmac
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum

from pydantic import SecretStr

from bot.app import App
from bot.commands.registry import ReadHeadline
from bot.face.face import FaceStatus
from bot.pace import RateLimit
from bot.query_log import log_of, logged
from bot.settings import Settings
from bot.web.metrics import Metrics
from db.corpus.corpora import Corpora
from db.pool import Database
from engine.corpora import corpus_named
from engine.errors import SeveralCorpora, UsageError
from engine.messages import Message
from engine.search_log import SearchJob, search_logged
from engine.types import Corpus, Kind, Prophecy, SearchRequest


class Right(IntEnum):
    """What a key opens; a higher one opens what a lower one does."""

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
        """Tell whether the API needs a key at all."""
        return any(right is Right.ASK for _, right in self._known)

    def right_of(self, key: str | None) -> Right:
        """Return what a key opens; without one, what stands open to everybody."""
        if key is None:
            return Right.NONE if self.asks_for_keys() else Right.ASK
        given, found = _digest(key), Right.NONE
        for known, right in self._known:  # all of them, whichever fits
            if hmac.compare_digest(known, given):
                found = max(found, right)
        return found


def _listed(keys: SecretStr | None) -> Iterable[str]:
    written = keys.get_secret_value() if keys else ""
    return filter(None, (key.strip() for key in written.split(",")))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class ShownCorpora(Corpora):
    """Those that are named; without names, all but what people wrote in private."""

    def __init__(self, database: Database, names: Collection[str]) -> None:
        super().__init__(database)
        self._names = names

    async def list(self) -> list[Corpus]:
        """Return them by name."""
        return [one for one in await super().list() if self._may_be_seen(one)]

    async def get(self, name: str) -> Corpus:
        """Return the corpus called `name`. Raises CorpusNotFound."""
        return corpus_named(await self.list(), name)

    def _may_be_seen(self, corpus: Corpus) -> bool:
        return corpus.name in self._names if self._names else not corpus.private


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """How often one address may ask at all, and for what is dear."""

    requests: RateLimit
    answers: RateLimit


@dataclass(slots=True, kw_only=True)
class SharedState:
    """Settings change when they are reloaded; all else stays. `app` sees what may be shown."""

    app: App
    now: Callable[[], datetime]
    metrics: Metrics
    read_headline: ReadHeadline
    reload_settings: Callable[[], Settings]
    faces: Callable[[], Mapping[str, FaceStatus]] = dict
    clock: Callable[[], float] = time.monotonic
    keys: Keys = field(init=False)
    limits: RateLimits = field(init=False)

    def __post_init__(self) -> None:
        secrets = self.app.settings.secrets
        self.keys = Keys(secrets.web_api_keys, secrets.web_admin_keys)
        self.use(self.app.settings)

    @property
    def settings(self) -> Settings:
        """What is followed just now."""
        return self.app.settings

    def use(self, settings: Settings) -> None:
        """Answer by these settings from now on; counts of requests begin anew."""
        web = settings.web
        shown = ShownCorpora(self.app.database, web.corpora)
        self.app = replace(self.app, settings=settings, corpora=shown)
        self.limits = RateLimits(
            requests=RateLimit(web.requests_per_minute), answers=RateLimit(web.answers_per_minute)
        )

    async def corpus(self, name: str = "", kind: Kind | None = None) -> Corpus:
        """Return the corpus called `name`, else the usual one, of a kind where one is asked for.

        Raises CorpusNotFound, UsageError when several fit or it is of another kind, StorageError.
        """
        try:
            return await self.app.corpus(name, kinds=(kind,) if kind else ())
        except SeveralCorpora as error:
            raise UsageError(error.message, fix=Message("Name one with corpus=NAME.")) from None

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Answer a headline, and log that as a chat's: by its hash. Raises StorageError."""
        return await logged(
            SearchJob.SEARCH,
            request.headline.text,
            self.app.prophet.prophesy(corpus, request),
            search_logged,
            log=log_of(self.app.database, self.settings),
            settings=self.settings,
            corpus=corpus.name,
        )

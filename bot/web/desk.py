"""What all routes of the web face share."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.app import DEMO_CORPUS, NEWS_CORPUS, App
from bot.face import Status
from bot.settings import Settings
from bot.web.keys import Keys
from bot.web.limits import RateLimit
from bot.web.metrics import Metrics
from engine.errors import CorpusNotFound, UsageError
from engine.types import Corpus, Headline, Kind


class ReadHeadline(Protocol):
    """What a person pasted becomes a headline; a link alone is fetched."""

    async def __call__(self, text: str, *, now: datetime) -> Headline:
        """Return the headline. Raises PresagioError when a page cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How often one address may ask at all, and for what is dear."""

    requests: RateLimit
    answers: RateLimit


@dataclass(slots=True, kw_only=True)
class Desk:
    """Settings change when they are reloaded; all else stays."""

    app: App
    settings: Settings
    now: Callable[[], datetime]
    metrics: Metrics
    read_headline: ReadHeadline
    reload_settings: Callable[[], Settings]
    faces: Callable[[], Mapping[str, Status]] = dict
    clock: Callable[[], float] = time.monotonic
    keys: Keys = field(init=False)
    limits: Limits = field(init=False)

    def __post_init__(self) -> None:
        secrets = self.settings.secrets
        self.keys = Keys(secrets.web_api_keys, secrets.web_admin_keys)
        self.limits = _limits(self.settings)

    def use(self, settings: Settings) -> None:
        """Answer by these settings from now on; counts of requests begin anew."""
        self.settings = settings
        self.limits = _limits(settings)

    async def corpora(self) -> list[Corpus]:
        """Return the corpora that may be shown, by name. Raises StorageError.

        What people wrote in private is shown only where the settings name it.
        """
        named = self.settings.web.corpora
        found = await self.app.corpora.list()
        if named:
            return [one for one in found if one.name in named]
        return [one for one in found if one.kind is not Kind.PERSONAL]

    async def corpus(self, name: str = "", kind: Kind | None = None) -> Corpus:
        """Return the corpus called `name`, else the one there is, of a kind if one is given.

        The demo does not count beside another; the news count where their kind is asked for.
        Raises CorpusNotFound, UsageError when several fit, StorageError.
        """
        shown = await self.corpora()
        if name:
            return _named(name, kind, shown)
        fitting = [one for one in shown if kind in (None, one.kind)]
        preferred = [one for one in fitting if one.name == self.settings.search.corpus]
        if kind is None:
            fitting = [one for one in fitting if one.name != NEWS_CORPUS]
        own = preferred or [one for one in fitting if one.name != DEMO_CORPUS] or fitting
        if len(own) == 1:
            return own[0]
        if not own:
            raise CorpusNotFound("There is no corpus yet." if kind is None else _none_of(kind))
        raise UsageError(
            f"There are several corpora: {_names(own)}.", fix="Name one with corpus=NAME."
        )


def _named(name: str, kind: Kind | None, shown: list[Corpus]) -> Corpus:
    found = next((one for one in shown if one.name == name), None)
    if found is None:
        fix = f"There are: {_names(shown)}." if shown else None
        raise CorpusNotFound(f"There is no corpus {name!r}.", fix=fix)
    if kind not in (None, found.kind):
        raise UsageError(f"Corpus {name} holds {found.kind.value}.", fix=f"Leave kind={kind} out.")
    return found


def _none_of(kind: Kind) -> str:
    return f"There is no corpus of the kind {kind.value}."


def _names(corpora: list[Corpus]) -> str:
    return ", ".join(one.name for one in corpora)


def _limits(settings: Settings) -> Limits:
    web = settings.web
    return Limits(
        requests=RateLimit(web.requests_per_minute), answers=RateLimit(web.answers_per_minute)
    )

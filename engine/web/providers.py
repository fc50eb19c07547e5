"""Several search providers in order: the next one answers where one fails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.errors import WebSearchError
from engine.messages import Message
from engine.web.types import WebResult, WebSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
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
        providers: Sequence[WebSearch],
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

    async def search(self, query: str, *, limit: int, now: datetime) -> Searched:
        """Return the answer of the first provider that gives one. Raises no WebSearchError."""
        searched = Searched()
        for provider in self._providers:
            if reason := self._rests(provider.name):
                searched = replace(searched, notices=(*searched.notices, reason))
                continue
            searched = replace(searched, requests=searched.requests + 1)
            try:
                answer = await provider.search(query, limit=limit, now=now)
            except WebSearchError as error:
                self._failed(error)
                if error.rest:
                    self._resting[provider.name] = (self._clock() + error.rest, error.said)
                searched = replace(searched, notices=(*searched.notices, error.said))
                continue
            return replace(
                searched,
                results=answer.results,
                provider=provider.name,
                cost_usd=answer.cost_usd,
            )
        return searched

    def _rests(self, name: str) -> Message | None:
        """Return why a provider is left alone now, or None if it may be asked."""
        until, reason = self._resting.get(name, (0.0, None))
        return reason if self._clock() < until else None

"""A search provider over HTTP."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any

import httpx

from engine.llm.wire import decode, said_by
from engine.messages import Message
from engine.settings.reading import WebSearchSettings
from engine.web.faults import engines_suspended, status_error, unreachable, unreadable
from engine.web.forms import FORMS, searxng_address, shortened, usable_key
from engine.web.types import WebAnswer

_MOST_BYTES = 4_000_000  # Exa sends the pages too


class HttpSearch:
    """Asks one provider. It holds connections: close it. Raises SettingsError for a bad key."""

    def __init__(
        self,
        provider: str,
        settings: WebSearchSettings,
        *,
        key: str | None,
        url: str | None = None,
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
        payload = await self._asked(query, limit, now)
        if not self._form.signs & payload.keys():
            raise unreadable(self.name)
        results = tuple(islice(self._form.results(payload), limit))
        silent = payload.get("unresponsive_engines")
        if not results and silent and self.name == "searxng":
            raise engines_suspended(_engines(silent))
        cost = self._form.cost(payload)
        return WebAnswer(
            results=results, cost_usd=self._settings.usd.get(self.name) if cost is None else cost
        )

    async def _asked(self, query: str, limit: int, now: datetime) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self._settings.timeout):
                status, headers, content = await self._exchanged(shortened(query), limit)
        except (TimeoutError, httpx.TimeoutException) as exc:
            seconds = self._settings.timeout
            reason = Message("no answer within {seconds:g} s.", seconds=seconds)
            raise unreachable(self.name, reason) from exc
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as exc:
            reason = Message("no connection ({name}).", name=type(exc).__name__)
            raise unreachable(self.name, reason) from exc
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
        if payload is None:
            raise unreadable(self.name)
        return payload

    async def _exchanged(self, query: str, limit: int) -> tuple[int, httpx.Headers, bytes]:
        asked = self._form.request(query, limit)
        method = "GET" if asked.body is None else "POST"
        content = bytearray()
        async with self._http.stream(
            method, self._url, params=dict(asked.query) or None, json=asked.body
        ) as response:
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > _MOST_BYTES:
                    raise unreadable(self.name)
            return response.status_code, response.headers, bytes(content)


def _engines(silent: object) -> str:
    """Return the names in [["google", "timeout"], ...]."""
    listed = silent if isinstance(silent, list) else []
    names = (str(one[0])[:40] for one in listed if isinstance(one, list) and one)
    return ", ".join(islice(names, 5))

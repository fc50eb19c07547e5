"""Any server that speaks OpenAI's /embeddings: OpenAI, OpenRouter, Voyage, Ollama, ..."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime, timedelta

import orjson

from engine.budget import CHARACTERS_PER_TOKEN, BudgetSource, PlannedCall
from engine.errors import CorpusWithheld, ModelRateLimited
from engine.llm.endpoint import Fault, endpoint_of, no_vectors, too_slow
from engine.llm.spending import Account
from engine.llm.transport import FIRST_WAIT, Transport, retry_faults
from engine.llm.wire import read_usage
from engine.settings.models import REMOTE_BATCH, EmbeddingSettings
from engine.values import Closable, Usage
from engine.vectors import Vector

_Turn = Callable[[], AbstractAsyncContextManager[None]]
PURPOSE = "embed"
MAX_ANSWER_BYTES = 64 << 20
_RETRIES = 4  # of a request
_LONGEST_WAIT = 30.0  # seconds between attempts


class Pressure:
    """Lets requests through, unless the endpoint has asked to slow down.

    Then all wait as long as it said, and go one at a time until one succeeds: all at once would be
    refused again.
    """

    def __init__(self) -> None:
        self._alone = asyncio.Lock()
        self._slowed = False
        self._until = 0.0  # by the clock of the event loop

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a request may be sent; the block is to send it and to read the answer."""
        if self._slowed:
            async with self._alone:
                await self._pause()
                if self._slowed:
                    yield
                    self._slowed = False
                    return
        yield

    def slow_down(self, seconds: float) -> None:
        """Stop for so long: the endpoint asked for it."""
        self._slowed = True
        self._until = max(self._until, asyncio.get_running_loop().time() + seconds)

    async def _pause(self) -> None:
        clock = asyncio.get_running_loop().time
        while (left := self._until - clock()) > 0:  # noqa: ASYNC110 - it may become longer
            await asyncio.sleep(left)


def read_vectors(payload: Mapping[str, object], number: int) -> list[Vector] | None:
    """Return the vectors in the order of their texts, or None if any is missing or invalid."""
    data = payload.get("data")
    found: dict[int, Vector] = {}
    for place, item in enumerate(data if isinstance(data, list) else []):
        vector = item.get("embedding") if isinstance(item, Mapping) else None
        if not isinstance(vector, list) or not vector:
            return None
        if not all(isinstance(value, int | float) and math.isfinite(value) for value in vector):
            return None
        index = item.get("index")
        found[index if isinstance(index, int) else place] = vector
    if set(found) != set(range(number)):
        return None
    return [found[place] for place in range(number)]


def read_json_object(content: bytes) -> Mapping[str, object]:
    """Return the JSON object of an answer, or an empty one if the answer is not an object."""
    try:
        payload = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return payload if isinstance(payload, dict) else {}


class RemoteEmbedder(Closable):
    """Calls one endpoint in batches, a few at once, with retries.

    `clock` returns the current time. The usage of each answer is recorded. Tokens of embeddings
    cost next to nothing, so the account should limit money only. It holds connections: close it,
    or use `async with`. Raises SettingsError for unusable settings.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        api_key: str | None = None,
        account: Account,
        clock: Callable[[], datetime],
        retries: int = _RETRIES,
    ) -> None:
        self._settings = settings
        self._retries = retries
        self._account = account
        self._clock = clock
        self.dimensions = settings.dimensions or None
        self._endpoint = endpoint_of(settings, api_key)
        wanted = f":{settings.dimensions}" if settings.dimensions else ""
        self.name = settings.prefixes.name_space(f"{self._endpoint.host}/{settings.model}{wanted}")
        self._slots = asyncio.Semaphore(settings.at_once)
        self._pressure = Pressure()
        self._transport = Transport(
            self._endpoint,
            "embeddings",
            connect_timeout=settings.timeout,
            read_timeout=settings.timeout,
            read_setting="timeout",
            max_bytes=MAX_ANSWER_BYTES,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text.

        Raises BudgetExhausted, ModelRefused, ModelRateLimited, ModelUnreachable,
        ModelAnswerInvalid, and whatever the ledger raises.
        """
        prefixed = [self._settings.prefixes.document + text for text in texts]
        batch = self._settings.batch or REMOTE_BATCH
        requests = [
            asyncio.create_task(self._embed_in_slot(prefixed[start : start + batch]))
            for start in range(0, len(prefixed), batch)
        ]
        try:
            answers = await asyncio.gather(*requests)
        finally:  # one failed, or this was cancelled
            for request in requests:
                request.cancel()
            await asyncio.gather(*requests, return_exceptions=True)
        return [vector for vectors in answers for vector in vectors]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question, which waits for no documents.

        Raises what `embed_documents` raises.
        """
        return (await self._embed_batch([self._settings.prefixes.query + text], nullcontext))[0]

    async def _embed_in_slot(self, texts: list[str]) -> list[Vector]:
        async with self._slots:
            return await self._embed_batch(texts, self._pressure.turn)

    async def _embed_batch(self, texts: list[str], turn: _Turn) -> list[Vector]:
        settings, now = self._settings, self._clock()
        tokens = sum(map(len, texts)) // CHARACTERS_PER_TOKEN
        longest = settings.timeout + (settings.timeout + _LONGEST_WAIT) * self._retries
        planned = PlannedCall(
            source=self._account.source(),
            cost_usd=tokens * settings.usd_per_million_tokens / 1e6,
            until=now + timedelta(seconds=longest),
        )

        async def request_in_turn() -> list[Vector]:
            async with turn():
                return await self._request_vectors(texts, planned.source)

        async with self._account.hold(planned, now=now):
            return await retry_faults(
                request_in_turn,
                retries=self._retries,
                longest_wait=_LONGEST_WAIT,
                time_left=lambda: _LONGEST_WAIT,
            )

    async def _request_vectors(self, texts: list[str], source: BudgetSource) -> list[Vector]:
        settings, endpoint = self._settings, self._endpoint
        body: dict[str, object] = {"model": settings.model, "input": texts}
        if settings.dimensions:
            body["dimensions"] = settings.dimensions
        try:
            async with asyncio.timeout(settings.timeout):
                content, _ = await self._transport.post(body, clock=self._clock)
        except TimeoutError as exc:
            raise Fault(too_slow(endpoint, settings.timeout, "timeout")) from exc
        except Fault as fault:
            if isinstance(fault.error, ModelRateLimited) or fault.retry_after is not None:
                wait = FIRST_WAIT if fault.retry_after is None else fault.retry_after
                self._pressure.slow_down(min(wait, _LONGEST_WAIT))
            raise
        payload = read_json_object(content)
        await self._record_usage(payload, source)
        vectors = read_vectors(payload, len(texts))
        if vectors is None:
            raise Fault(no_vectors(endpoint))
        self.dimensions = self.dimensions or len(vectors[0])
        if any(len(vector) != self.dimensions for vector in vectors):
            raise Fault(no_vectors(endpoint))
        return vectors

    async def _record_usage(self, payload: Mapping[str, object], source: BudgetSource) -> None:
        usage = read_usage(payload) or Usage()
        if usage.cost_usd is None and usage.prompt_tokens is not None:
            price = self._settings.usd_per_million_tokens
            usage = Usage(
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cost_usd=usage.prompt_tokens * price / 1e6 if price else None,
            )
        if usage != Usage():
            await self._account.ledger.record(
                usage, model=self._settings.model, purpose=PURPOSE, source=source, now=self._clock()
            )


class WithheldEmbedder:
    """Sends nothing and raises an error that says why.

    `name` is the model's, because vectors of it may already be stored.
    """

    dimensions = None

    def __init__(self, name: str, refusal: CorpusWithheld) -> None:
        self.name = name
        self._refusal = refusal

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:  # noqa: ARG002 - the port
        """Raise CorpusWithheld."""
        raise CorpusWithheld(self._refusal.message, fix=self._refusal.fix)

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - the port names it
        """Raise CorpusWithheld."""
        raise CorpusWithheld(self._refusal.message, fix=self._refusal.fix)

"""Any server that speaks OpenAI's /embeddings: OpenAI, OpenRouter, Voyage, Ollama, ..."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx
import stamina

from engine.budget import Budget, BudgetSource, Planned
from engine.embed.remote_answer import read_json_object, read_vectors
from engine.errors import (
    ModelAnswerInvalid,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from engine.llm.faults import quote, retry_after
from engine.llm.spending import within_budget
from engine.llm.wire import read_usage, said_by
from engine.messages import Message
from engine.ports import UsageLedger
from engine.types import Usage
from engine.vectors import Prefixes, Vector

PURPOSE = "embed"
MAX_ANSWER_BYTES = 64 << 20
_CHARACTERS_A_TOKEN = 4
_FIRST_WAIT, _LONGEST_WAIT, _JITTER = 0.5, 30.0, 0.5  # seconds between attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """One endpoint; times in seconds."""

    model: str
    base_url: str  # without /embeddings
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None  # asked for; None = the model's own
    prefixes: Prefixes = field(default_factory=Prefixes)
    batch: int = 128  # texts in one request
    timeout: float = 30.0  # of one attempt
    retries: int = 4
    usd_per_million_tokens: float = 0.0  # of endpoints that do not say what they cost

    @property
    def host(self) -> str:
        """Host name of the endpoint."""
        return urlsplit(self.base_url).hostname or ""


class _Fault(Exception):
    """One failed attempt; `wait` is what the server asks for, in seconds."""

    def __init__(self, error: ModelError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = wait


class RemoteEmbedder:
    """Asks one endpoint, in batches, patiently. `clock` returns the time, `source` for whom it is
    asked just now.

    What an answer cost goes into the ledger. Tokens of embeddings cost next to
    nothing: let `budget` limit money alone. It holds connections: close it, or use `async with`.
    """

    def __init__(
        self,
        settings: RemoteSettings,
        *,
        ledger: UsageLedger,
        clock: Callable[[], datetime],
        budget: Budget = Budget(),  # noqa: B008 - frozen
        source: Callable[[], BudgetSource] = lambda: BudgetSource.CONSOLE,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._clock = clock
        self._budget = budget
        self._source = source
        self.dimensions = settings.dimensions
        wanted = f":{settings.dimensions}" if settings.dimensions else ""
        self.name = settings.prefixes.naming(f"{settings.host}/{settings.model}{wanted}")
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        # trust_env off: a proxy or .netrc of the machine must not see or replace the key.
        self._http = httpx.AsyncClient(
            trust_env=False, headers=headers, timeout=httpx.Timeout(settings.timeout)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text.

        Raises BudgetExhausted, ModelRefused, ModelRateLimited, ModelUnreachable,
        ModelAnswerInvalid, and whatever the ledger raises.
        """
        prefixed = [self._settings.prefixes.document + text for text in texts]
        vectors: list[Vector] = []
        for start in range(0, len(prefixed), self._settings.batch):
            vectors += await self._batch(prefixed[start : start + self._settings.batch])
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question. Raises what `embed_documents` raises."""
        return (await self._batch([self._settings.prefixes.query + text]))[0]

    async def _batch(self, texts: list[str]) -> list[Vector]:
        planned = self._planned(texts)
        async with within_budget(self._budget, planned, self._ledger, now=self._clock()):
            return await self._with_retries(texts, planned.source)

    def _planned(self, texts: list[str]) -> Planned:
        settings = self._settings
        tokens = sum(map(len, texts)) // _CHARACTERS_A_TOKEN
        longest = settings.timeout + (settings.timeout + _LONGEST_WAIT) * settings.retries
        return Planned(
            source=self._source(),
            cost_usd=tokens * settings.usd_per_million_tokens / 1e6,
            until=self._clock() + timedelta(seconds=longest),
        )

    async def _with_retries(self, texts: list[str], source: BudgetSource) -> list[Vector]:
        try:
            async for attempt in stamina.retry_context(
                on=_again,
                attempts=self._settings.retries + 1,
                timeout=None,  # attempts and waits are bounded, so their sum is
                wait_initial=_FIRST_WAIT,
                wait_max=_LONGEST_WAIT,
                wait_jitter=_JITTER,
            ):
                with attempt:
                    return await self._attempt(texts, source)
        except _Fault as fault:
            raise fault.error from fault.__cause__
        raise AssertionError("the retry context ends by returning or raising")

    async def _attempt(self, texts: list[str], source: BudgetSource) -> list[Vector]:
        body: dict[str, object] = {"model": self._settings.model, "input": texts}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        status, headers, content = await self._post(body)
        if status != httpx.codes.OK:
            raise self._status_fault(status, headers, content)
        payload = read_json_object(content)
        await self._bill(payload, source)
        vectors = read_vectors(payload, len(texts))
        if vectors is None:
            raise _Fault(self._invalid())
        self.dimensions = self.dimensions or len(vectors[0])
        if any(len(vector) != self.dimensions for vector in vectors):
            raise _Fault(self._invalid())
        return vectors

    async def _post(self, body: Mapping[str, object]) -> tuple[int, Mapping[str, str], bytes]:
        """The only place where httpx is called and its errors are mapped."""
        settings = self._settings
        url = f"{settings.base_url.rstrip('/')}/embeddings"
        try:
            async with (
                asyncio.timeout(settings.timeout),
                self._http.stream("POST", url, json=body) as response,
            ):
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_ANSWER_BYTES:
                        raise _Fault(self._invalid())
                return response.status_code, response.headers, bytes(content)
        except (httpx.TimeoutException, TimeoutError) as exc:
            slow = Message(
                "{host} gave no vectors within {seconds:g} s.",
                host=settings.host,
                seconds=settings.timeout,
            )
            raise _Fault(ModelUnreachable(slow, fix=Message("Raise embeddings.timeout."))) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            message = Message("No connection to {host}.", host=settings.host)
            fix = Message("Check the network and embeddings.base_url.")
            raise _Fault(ModelUnreachable(message, fix=fix)) from exc

    def _status_fault(self, status: int, headers: Mapping[str, str], content: bytes) -> _Fault:
        host, said = self._settings.host, quote(said_by(content), self._settings.api_key)
        message = (
            Message(
                "{host} gave no vectors ({status}): {said}", host=host, status=status, said=said
            )
            if said
            else Message("{host} gave no vectors ({status}).", host=host, status=status)
        )
        wait = retry_after(headers.get("retry-after"), self._clock())
        if status == httpx.codes.TOO_MANY_REQUESTS:
            return _Fault(ModelRateLimited(message, fix=Message("Wait a little.")), wait)
        if status == httpx.codes.REQUEST_TIMEOUT or status >= httpx.codes.INTERNAL_SERVER_ERROR:
            return _Fault(ModelUnreachable(message, fix=Message("Try again later.")), wait)
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            return _Fault(ModelRefused(message, fix=Message("Check EMBEDDINGS_API_KEY.")))
        return _Fault(
            ModelRefused(message, fix=Message("Check embeddings.base_url and embeddings.model."))
        )

    def _invalid(self) -> ModelAnswerInvalid:
        return ModelAnswerInvalid(
            Message("The answer of {host} holds no usable vectors.", host=self._settings.host),
            fix=Message("Check embeddings.base_url and embeddings.model."),
        )

    async def _bill(self, payload: Mapping[str, object], source: BudgetSource) -> None:
        usage = read_usage(payload) or Usage()
        if usage.cost_usd is None and usage.prompt_tokens is not None:
            price = self._settings.usd_per_million_tokens
            usage = Usage(
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cost_usd=usage.prompt_tokens * price / 1e6 if price else None,
            )
        if usage != Usage():
            await self._ledger.record(
                usage,
                model=self._settings.model,
                purpose=PURPOSE,
                source=source,
                now=self._clock(),
            )


def _again(error: Exception) -> bool | float:
    """True = back off and retry, seconds = wait that long, False = give up."""
    if not isinstance(error, _Fault) or not error.error.retryable:
        return False
    if error.wait is None:
        return True
    return error.wait if error.wait <= _LONGEST_WAIT else False

"""The one place that calls the HTTP client for models; maps its errors, tries an endpoint."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import httpx
import stamina

from engine.errors import ModelAnswerInvalid, ModelRefused, ModelUnreachable
from engine.fetch import http_date
from engine.llm.endpoint import (
    Endpoint,
    Fault,
    advise_address,
    model_unreachable,
    status_fault,
    too_slow,
)
from engine.llm.wire import said_by
from engine.messages import Message

_TOTAL, _TOTAL_OF_MODEL = 10.0, 60.0  # seconds; a model of one's own may have to be loaded
_FEW_TOKENS = 200  # some models think before they answer
MAX_ANSWER_BYTES = 1 << 20
FIRST_WAIT, JITTER = 0.5, 0.5  # seconds between attempts
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAnswer:
    """A line about an endpoint, and the time there if it told it."""

    line: str
    date: datetime | None


async def check_endpoint(endpoint: Endpoint) -> EndpointAnswer:
    """Ask the endpoint for what costs nothing: the model is not called.

    Raises ModelUnreachable, ModelRefused.
    """
    # OpenRouter lists its models without a key; only /key tells whether the key is valid.
    url = endpoint.url("key" if endpoint.is_openrouter else "models")
    response = await _send_request(endpoint, url, None, _TOTAL)
    line = f"{endpoint.model} at {endpoint.host}"
    return EndpointAnswer(line=line, date=http_date(response.headers.get("Date", "")))


async def check_model(endpoint: Endpoint) -> str:
    """Ask the model for one word, and return a line about it.

    Raises ModelUnreachable, ModelRefused.
    """
    endpoint.require_key()
    body: dict[str, object] = {
        "model": endpoint.model,
        "messages": [{"role": "user", "content": "Answer with the word yes."}],
    }
    url = endpoint.url("chat/completions")
    try:
        limited = body | {"max_completion_tokens": _FEW_TOKENS}
        await _send_request(endpoint, url, limited, _TOTAL_OF_MODEL)
    except ModelRefused:  # some servers know the older name alone; a key is refused again
        await _send_request(endpoint, url, body | {"max_tokens": _FEW_TOKENS}, _TOTAL_OF_MODEL)
    return f"{endpoint.model} at {endpoint.host} answered"


async def _send_request(
    endpoint: Endpoint, url: str, body: Mapping[str, object] | None, seconds: float
) -> httpx.Response:
    """Send one request. Raises ModelUnreachable, ModelRefused."""
    method = "GET" if body is None else "POST"
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(trust_env=False, timeout=seconds) as client,
        ):
            response = await client.request(method, url, headers=endpoint.headers(), json=body)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as exc:
        raise ModelUnreachable(
            Message(
                "{host} does not answer ({name}).", host=endpoint.host, name=type(exc).__name__
            ),
            fix=Message("Check llm.base_url and the network."),
        ) from exc
    if response.status_code in (401, 403):
        raise ModelRefused(
            Message("{host} refuses the key.", host=endpoint.host),
            fix=Message("Check OPENROUTER_API_KEY."),
        )
    if not response.is_success:  # the chat client does not follow redirects either
        raise ModelRefused(
            Message("{host} answered {status}.", host=endpoint.host, status=response.status_code),
            fix=Message("Check llm.base_url."),
        )
    return response


async def retry_faults(
    work: Callable[[], Awaitable[_Result]],
    *,
    retries: int,
    longest_wait: float,
    time_left: Callable[[], float],
    note: Callable[[Fault], None] = lambda _: None,
) -> _Result:
    """Return what `work` returns, which is done again after faults that may pass by themselves.

    `note` is told of these. A wait that the server asks for is granted up to `time_left`, in
    seconds. Raises the error of the last fault.
    """

    def choose_wait(error: Exception) -> bool | float:
        """True = back off and retry, seconds = wait that long, False = give up."""
        if not isinstance(error, Fault) or not error.error.retryable:
            return False
        note(error)
        if error.retry_after is None:
            return True
        return error.retry_after if error.retry_after <= time_left() else False

    try:
        async for attempt in stamina.retry_context(
            on=choose_wait,
            attempts=retries + 1,
            timeout=None,  # the caller bounds it, or attempts and waits are each bounded
            wait_initial=FIRST_WAIT,
            wait_max=longest_wait,
            wait_jitter=JITTER,
        ):
            with attempt:
                return await work()
    except Fault as fault:
        raise fault.error from fault.__cause__
    raise AssertionError("the retry context ends by returning or raising")


class Transport:
    """Posts to one resource of an endpoint, keeping connections open until it is closed.

    `headers` are added to those of the endpoint in each request. Times are in seconds;
    `read_setting` is the key that allows a longer `read_timeout`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        path: str,
        *,
        connect_timeout: float,
        read_timeout: float,
        read_setting: str = "read_timeout",
        headers: Mapping[str, str] | None = None,
        max_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self._endpoint = endpoint
        self._url = endpoint.url(path)
        self._read_timeout, self._read_setting = read_timeout, read_setting
        self._max_bytes = max_bytes
        # trust_env off: a proxy or .netrc of the machine must not see or replace the key.
        self._http = httpx.AsyncClient(
            trust_env=False,
            headers={**endpoint.headers(), **(headers or {})},
            timeout=httpx.Timeout(read_timeout, connect=connect_timeout),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def post(
        self, body: Mapping[str, object], *, clock: Callable[[], datetime]
    ) -> tuple[bytes, Mapping[str, str]]:
        """Return the content and the headers of the answer to a request.

        `clock` returns the current time, once there is an answer. Raises Fault, also if the server
        refuses the request.
        """
        endpoint = self._endpoint
        try:
            async with self._http.stream("POST", self._url, json=body) as response:
                content = await self._read_body(response)
        except httpx.ReadTimeout as exc:
            raise Fault(too_slow(endpoint, self._read_timeout, self._read_setting)) from exc
        except httpx.ConnectError as exc:
            message = Message("No connection to {host}.", host=endpoint.host)
            raise Fault(model_unreachable(endpoint, message)) from exc
        except httpx.InvalidURL as exc:
            unusable = Message("The address of the model cannot be used.")
            raise Fault(ModelRefused(unusable, fix=advise_address(endpoint))) from exc
        except httpx.HTTPError as exc:
            reason = Message(
                "The connection to {host} broke ({reason}).",
                host=endpoint.host,
                reason=type(exc).__name__,
            )
            raise Fault(model_unreachable(endpoint, reason)) from exc
        status, headers = response.status_code, response.headers
        if status != httpx.codes.OK:
            raise status_fault(status, said_by(content), endpoint, headers=headers, now=clock())
        return content, headers

    async def _read_body(self, response: httpx.Response) -> bytes:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > self._max_bytes:
                endpoint, number = self._endpoint, self._max_bytes
                message = Message(
                    "The answer of {host} passes {number} bytes.", host=endpoint.host, number=number
                )
                raise Fault(ModelAnswerInvalid(message, fix=advise_address(endpoint)))
        return bytes(content)

"""The one place that calls the HTTP client for models and maps its errors."""

from collections.abc import Mapping

import httpx

from engine.llm.endpoint import Endpoint
from engine.llm.faults import Fault, bad_address, model_unreachable, too_long, too_slow
from engine.messages import Message

MAX_ANSWER_BYTES = 1 << 20


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
        most_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self._endpoint = endpoint
        self._url = endpoint.url(path)
        self._read_timeout, self._read_setting = read_timeout, read_setting
        self._most_bytes = most_bytes
        # trust_env off: a proxy or .netrc of the machine must not see or replace the key.
        self._http = httpx.AsyncClient(
            trust_env=False,
            headers={**endpoint.headers(), **(headers or {})},
            timeout=httpx.Timeout(read_timeout, connect=connect_timeout),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def post(self, body: Mapping[str, object]) -> tuple[int, httpx.Headers, bytes]:
        """Return status, headers and content of the answer to a request. Raises Fault."""
        endpoint = self._endpoint
        try:
            async with self._http.stream("POST", self._url, json=body) as response:
                return response.status_code, response.headers, await self._read(response)
        except httpx.ReadTimeout as exc:
            raise Fault(too_slow(endpoint, self._read_timeout, self._read_setting)) from exc
        except httpx.ConnectError as exc:
            message = Message("No connection to {host}.", host=endpoint.host)
            raise Fault(model_unreachable(endpoint, message)) from exc
        except httpx.InvalidURL as exc:
            raise Fault(bad_address(endpoint)) from exc
        except httpx.HTTPError as exc:
            reason = Message(
                "The connection to {host} broke ({reason}).",
                host=endpoint.host,
                reason=type(exc).__name__,
            )
            raise Fault(model_unreachable(endpoint, reason)) from exc

    async def _read(self, response: httpx.Response) -> bytes:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > self._most_bytes:
                raise Fault(too_long(self._endpoint, self._most_bytes))
        return bytes(content)

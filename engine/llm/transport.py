"""Completions over HTTP: the one place where the chat client calls httpx and maps its errors."""

from collections.abc import Mapping

import httpx

from engine.llm.faults import Fault, bad_address, model_unreachable, too_slow, unreadable_answer
from engine.llm.settings import LlmSettings
from engine.llm.wire import request_headers
from engine.messages import Message

MAX_ANSWER_BYTES = 1 << 20


class Transport:
    """Posts to one endpoint over connections that it holds until it is closed."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        # trust_env off: a proxy or .netrc of the machine must not see or replace the key.
        self._http = httpx.AsyncClient(
            trust_env=False,
            headers=request_headers(settings),
            timeout=httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def post(self, body: Mapping[str, object]) -> tuple[int, httpx.Headers, bytes]:
        """Return status, headers and content of the answer to a request. Raises Fault."""
        settings = self._settings
        url = f"{settings.base_url.rstrip('/')}/chat/completions"
        try:
            async with self._http.stream("POST", url, json=body) as response:
                content = await _read_capped(response, settings)
                return response.status_code, response.headers, content
        except httpx.ReadTimeout as exc:
            raise Fault(too_slow(settings.read_timeout, "read_timeout")) from exc
        except httpx.ConnectError as exc:
            raise Fault(
                model_unreachable(Message("No connection to {host}.", host=settings.host))
            ) from exc
        except httpx.InvalidURL as exc:
            raise Fault(bad_address()) from exc
        except httpx.HTTPError as exc:
            reason = Message(
                "The connection to {host} broke ({reason}).",
                host=settings.host,
                reason=type(exc).__name__,
            )
            raise Fault(model_unreachable(reason)) from exc


async def _read_capped(response: httpx.Response, settings: LlmSettings) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            raise Fault(
                unreadable_answer(
                    Message("passes {number} bytes", number=MAX_ANSWER_BYTES), settings
                )
            )
    return bytes(content)

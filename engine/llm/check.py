"""Checks that the model endpoint answers and accepts the key, without calling the model."""

import asyncio

import httpx

from engine.errors import ModelRefused, ModelUnreachable
from engine.llm.endpoint import Endpoint
from engine.messages import Message

_TOTAL = 10.0  # seconds


async def check_endpoint(endpoint: Endpoint) -> str:
    """Return a line about the endpoint. Raises ModelUnreachable, ModelRefused."""
    # OpenRouter lists its models without a key; only /key tells whether the key is valid.
    url = endpoint.url("key" if endpoint.is_openrouter else "models")
    try:
        async with asyncio.timeout(_TOTAL), httpx.AsyncClient(trust_env=False) as client:
            response = await client.get(url, headers=endpoint.headers())
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
            Message(
                "{host} answered {status}.",
                host=endpoint.host,
                status=response.status_code,
            ),
            fix=Message("Check llm.base_url."),
        )
    return f"{endpoint.model} at {endpoint.host}"

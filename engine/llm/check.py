"""Whether the model endpoint answers and accepts the key, without asking the model anything."""

import asyncio

import httpx

from engine.errors import ModelRefused, ModelUnreachable
from engine.llm.settings import LlmSettings
from engine.messages import Message

_TOTAL = 10.0  # seconds


async def check_endpoint(settings: LlmSettings) -> str:
    """Return a line about the endpoint. Raises ModelUnreachable, ModelRefused."""
    # OpenRouter lists its models to anybody; only /key tells whether the key is good.
    path = "/key" if settings.is_openrouter else "/models"
    url = settings.base_url.rstrip("/") + path
    headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
    try:
        async with asyncio.timeout(_TOTAL), httpx.AsyncClient(trust_env=False) as client:
            response = await client.get(url, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as exc:
        raise ModelUnreachable(
            Message(
                "{host} does not answer ({name}).", host=settings.host, name=type(exc).__name__
            ),
            fix=Message("Check llm.base_url and the network."),
        ) from exc
    if response.status_code in (401, 403):
        raise ModelRefused(
            Message("{host} refuses the key.", host=settings.host),
            fix=Message("Check OPENROUTER_API_KEY."),
        )
    if not response.is_success:  # a redirect is not followed by the chat client either
        raise ModelRefused(
            Message(
                "{host} answered {status}.",
                host=settings.host,
                status=response.status_code,
            ),
            fix=Message("Check llm.base_url."),
        )
    return f"{settings.model} at {settings.host}"

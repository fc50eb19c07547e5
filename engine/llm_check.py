"""Whether the model endpoint answers and accepts the key, without asking the model anything."""

import asyncio

import httpx

from engine.errors import ModelRefused, ModelUnreachable
from engine.llm_settings import LlmSettings

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
            f"{settings.host} does not answer ({type(exc).__name__}).",
            fix="Check llm.base_url and the network.",
        ) from exc
    if response.status_code in (401, 403):
        raise ModelRefused(f"{settings.host} refuses the key.", fix="Check OPENROUTER_API_KEY.")
    if not response.is_success:  # a redirect is not followed by the chat client either
        raise ModelRefused(
            f"{settings.host} answered {response.status_code}.", fix="Check llm.base_url."
        )
    return f"{settings.model} at {settings.host}"

"""Webhooks: the paths that platforms push to, and how a pushed body is read."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from bot.incident import reason
from engine.errors import StorageError

logger = logging.getLogger("presagio.port")

LARGEST = 1 << 20  # bytes of a body
BODY_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A path that a platform posts to. `answer` reads the body with `read_body` and checks who sent
    it: no key, rate limit or host name is checked before."""

    platform: str
    path: str
    answer: Callable[[Request], Awaitable[Response]]

    async def receive(self, request: Request) -> Response:
        """Answer a pushed request. After 503 and 500 the platform pushes it again."""
        try:
            return await self.answer(request)
        except HTTPException as error:
            return Response(status_code=error.status_code)
        except StorageError as error:
            logger.warning("%s: an event was not taken: %s", self.platform, error)
            return Response(status_code=503)
        except Exception as error:
            logger.error("%s: an event was not taken: %s", self.platform, reason(error))  # noqa: TRY400 - a traceback may quote a message
            return Response(status_code=500)


async def read_body(request: Request) -> bytes:
    """Return the whole body, which is short. Raises HTTPException (400, 408, 413)."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST:
                    raise HTTPException(413)
    except TimeoutError:
        raise HTTPException(408) from None
    except ClientDisconnect:
        raise HTTPException(400) from None
    return bytes(body)

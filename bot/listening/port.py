"""The port that a platform pushes its events to."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import cast

from aiohttp import web

from bot.incident import reason
from bot.listening.connections import ACCEPTED_AT_ONCE, WAITING, Connections, most_of_port
from engine.errors import StorageError

logger = logging.getLogger("presagio.port")

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

LARGEST = 1 << 20  # bytes of a body
HEAD_SECONDS = 20.0  # for the head of a request, from when the connection waits for one
BODY_SECONDS = 10.0
_OPEN = web.AppKey("open connections", Connections)


class Port:
    """Listens, and hands requests to `answer`, which reads their bodies by `read_body`.

    There is no limit for one address: platforms come from few, and through a proxy from one.
    """

    def __init__(self, path: str, answer: Answer, *, close_seconds: float) -> None:
        """`close_seconds` is how long what is under way has when the port is closed."""
        self._open = Connections(most_of_port())
        application = web.Application(client_max_size=LARGEST, middlewares=[_noting])
        application[_OPEN] = self._open
        application.router.add_post(path, answer)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            keepalive_timeout=HEAD_SECONDS,
            shutdown_timeout=close_seconds,
        )
        self._listening: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> None:
        """Start to listen. Raises OSError when the address cannot be had."""
        await self._runner.setup()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        opened = socket.create_server((host, port), family=family)
        self._listening = await asyncio.get_running_loop().create_server(
            self._counted, sock=opened, backlog=ACCEPTED_AT_ONCE
        )
        opened.listen(WAITING)

    async def close(self) -> None:
        """Stop listening."""
        if self._listening:
            self._listening.close()
        await self._runner.cleanup()

    def _counted(self) -> asyncio.Protocol:
        if (server := self._runner.server) is None:
            raise ConnectionAbortedError  # the port is just being closed
        return _Counted(server(), self._open)


async def read_body(request: web.Request) -> bytes:
    """Return the whole body, which is short. Raises HTTPException (400, 408, 413)."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except (web.RequestPayloadError, ConnectionError):
        raise web.HTTPBadRequest from None
    if request.transport:
        request.app[_OPEN].busy(request.transport)
    return body


@web.middleware
async def _noting(request: web.Request, handler: Answer) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException:
        raise
    except StorageError as error:
        logger.warning("an event was not taken: %s", error)
        raise web.HTTPServiceUnavailable from None
    except Exception as error:
        logger.error("an event was not taken: %s", reason(error))  # noqa: TRY400 - a traceback may quote a message
        raise web.HTTPInternalServerError from None
    finally:
        if request.transport:
            request.app[_OPEN].idle(request.transport)


class _Counted(asyncio.Protocol):
    """A connection that is counted; all else is `protocol`'s."""

    def __init__(self, protocol: asyncio.Protocol, counted_in: Connections) -> None:
        self._protocol = protocol
        self._open = counted_in
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._protocol.connection_made(transport)
        self._open.enter(self._transport, None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport:
            self._open.leave(self._transport)
        self._protocol.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

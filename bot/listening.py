"""The port that this program listens on: webhooks, and limits on connections."""

import asyncio
import logging
import sys
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any

import h11
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from engine.errors import StorageError, explain_error

port_logger = logging.getLogger("presagio.port")

LARGEST = 1 << 20  # bytes of a body, at every path
BODY_SECONDS = 10.0
_MOST_PIECES = 2048  # of a body

logger = logging.getLogger("presagio.connections")

# Only resources from this server: no other host, no inline script or style.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
SAFE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}  # of every response

# The other half is for the database, the platforms, the model and the feeds.
_SHARE = 2
_MAX_CONNECTIONS = 2000  # where files are plenty; each takes some memory
_FEWEST = 8  # a few more than a browser opens at once
# Accepted by the event loop in one go: until then no limit applies to them.
ACCEPTED_AT_ONCE = 16
WAITING = 256  # connections that the system queues until they are accepted
_NETWORK_BITS = 64  # of an IPv6 address: the bits below belong to one customer

REQUEST_SECONDS = 30.0  # for a whole request, from when the connection starts waiting for it
UNREAD_SECONDS = 30.0  # for an answer that nobody reads


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
            port_logger.warning("%s: an event was not taken: %s", self.platform, error)
            return Response(status_code=503)
        except Exception as error:
            port_logger.error("%s: an event was not taken: %s", self.platform, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
            return Response(status_code=500)


async def read_body(request: Request) -> bytes:
    """Return the whole body, which the port lets be no longer than LARGEST.

    Raises HTTPException (400, 408, 413).
    """
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.body()
    except TimeoutError:
        raise HTTPException(408) from None
    except ClientDisconnect:
        raise HTTPException(400) from None


def limit_of_port() -> int:
    """Return how many connections the port may hold, given the process's limit on open files."""
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource  # noqa: PLC0415 - missing on Windows

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        _MAX_CONNECTIONS
        if files == resource.RLIM_INFINITY
        else max(min(_MAX_CONNECTIONS, files // _SHARE), _FEWEST)
    )


def network_of(address: str) -> str:
    """Return what counts as one client: an IPv4 address, a /64 of IPv6, or else the text itself."""
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return str(read)
    if read.ipv4_mapped:
        return str(read.ipv4_mapped)
    host_bits = read.max_prefixlen - _NETWORK_BITS
    return str(IPv6Address(int(read) >> host_bits << host_bits))


class Connections:
    """The open connections of the port.

    A connection is idle while the process waits for its next request to be complete, and busy
    while the request is answered. When a newcomer exceeds a limit, the connection that has been
    idle longest is closed; if all are busy, the newcomer is.
    """

    def __init__(self, maximum: int) -> None:
        """An address may hold a quarter of `maximum`."""
        self._maximum = maximum
        self._limit_of_address = max(maximum // 4, _FEWEST)
        self._of_address: Counter[str] = Counter()
        self._addresses: dict[asyncio.Transport, str | None] = {}
        self._idle: OrderedDict[asyncio.Transport, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._addresses)

    def enter(self, connection: asyncio.Transport, address: str | None) -> None:
        """Add a new, idle connection; an `address` of None may hold any number of them."""
        if address is not None and self._of_address[address] >= self._limit_of_address:
            crowded = self._cut_connection(connection, address)
        elif len(self) >= self._maximum:
            crowded = self._cut_connection(connection, None)
        else:
            crowded = False
        if not crowded:
            self._addresses[connection] = address
            self._idle[connection] = None
            if address is not None:
                self._of_address[address] += 1

    def busy(self, connection: asyncio.Transport) -> None:
        """Mark a connection whose request is complete and being answered."""
        self._idle.pop(connection, None)

    def idle(self, connection: asyncio.Transport) -> None:
        """Mark a connection whose request was answered."""
        if connection in self._addresses:
            self._idle[connection] = None

    def leave(self, connection: asyncio.Transport) -> None:
        """Remove a connection. Removing it twice does no harm."""
        address = self._addresses.pop(connection, None)
        self._idle.pop(connection, None)
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]

    def _cut_connection(self, newcomer: asyncio.Transport, address: str | None) -> bool:
        """Close one connection, of `address` if it is given; return whether it was the newcomer."""
        logger.warning("too many connections: those that ask nothing are closed")
        those = (
            connection
            for connection in self._idle
            if address in (None, self._addresses[connection])
        )
        longest = next(those, newcomer)
        self.leave(longest)
        longest.abort()
        return longest is newcomer


class BoundedConnection(h11.Connection):
    """Reads requests whose bodies come in no more than _MOST_PIECES: each takes 20 microseconds,
    however short it is, and nobody else is answered until all that has come is read."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER)
        self._pieces = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what was read next. Raises h11.RemoteProtocolError."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = 0
        elif isinstance(event, h11.Data):
            self._pieces += 1
            if self._pieces > _MOST_PIECES:
                raise h11.RemoteProtocolError("The body comes in too many pieces.")
        return event


class PatientProtocol(H11Protocol):
    """A connection of the port, with timeouts that the server lacks.

    The server's own timeout for a request ends with its first byte, and it waits for ever for an
    answer to be read.
    """

    def __init__(
        self,
        *args: Any,
        open_connections: Connections,
        proxies: Container[str] = (),
        **options: Any,
    ) -> None:
        """Addresses in `proxies` may hold any number of connections."""
        super().__init__(*args, **options)
        self.conn = BoundedConnection()
        self._open = open_connections
        self._proxies = proxies
        self._request_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as above
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self._open.enter(transport, None if host in self._proxies else network_of(host))
        self._note_state()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._note_state()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, with the headers that the application adds to all it answers."""
        headers = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close"}
        response = h11.Response(status_code=400, headers=[*(headers | SAFE_HEADERS).items()])
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            for event in (response, h11.Data(data=msg.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_state()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading_due = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._reading_due)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._request_due, self._reading_due)
        self._open.leave(self.transport)
        super().connection_lost(exc)

    def _note_state(self) -> None:
        """Record whether a request is awaited or being answered."""
        cycle = self.cycle
        busy = cycle is not None and not cycle.more_body and not cycle.response_complete
        if busy and self._request_due:
            _cancel(self._request_due)
            self._request_due = None
            self._open.busy(self.transport)
        elif not busy and not self._request_due:
            self._request_due = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
            self._open.idle(self.transport)


def _cancel(*timers: asyncio.TimerHandle | None) -> None:
    for timer in timers:
        if timer:
            timer.cancel()

"""HTTP over a socket, with an end to every wait for whoever is on the other side."""

import asyncio
from collections.abc import Container
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from bot.listening.connections import Connections, network_of

REQUEST_SECONDS = 30.0  # for a whole request, from when the connection waits for one
UNREAD_SECONDS = 30.0  # for an answer that nobody reads


class PatientProtocol(H11Protocol):
    """A connection of the port.

    The server itself ends the wait for a request with its first byte, and waits for ever for an
    answer to be read.
    """

    def __init__(
        self,
        *args: Any,
        open_connections: Connections,
        proxies: Container[str] = (),
        **options: Any,
    ) -> None:
        """`proxies` may hold any number of connections; "address in proxies" tells one."""
        super().__init__(*args, **options)
        self._open = open_connections
        self._proxies = proxies
        self._request_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as above
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self._open.enter(transport, None if host in self._proxies else network_of(host))
        self._note()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._note()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note()

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

    def _note(self) -> None:
        """Note whether a request is awaited or answered."""
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

"""Socket Mode: single-use addresses, WebSockets, envelopes to any one of them, and their ends."""

import asyncio
import json
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import WSMessage, WSMsgType, web

from tests.fakes.slack.delivery import Attempt, Envelope
from tests.fakes.slack.host import Host
from tests.fakes.slack.wire import APP, Json, Refusal
from tests.fakes.stand_in import Changes

MAX_CONNECTIONS = 10
DisconnectReason = Literal["warning", "refresh_requested", "link_disabled"]


@dataclass(eq=False)
class Connection:
    """One open WebSocket. A frozen one is still there but answers nothing, as a dead line does."""

    socket: web.WebSocketResponse
    request: web.Request
    frozen: bool = False
    pings: int = 0
    pongs: int = 0
    envelopes: list[Envelope] = field(default_factory=list)

    def drop(self) -> None:
        """Cut the line without a closing frame."""
        assert self.request.transport is not None
        self.request.transport.abort()


@dataclass
class SocketMode:
    """All connections of the app. `acknowledge(envelope_id, payload)` hears every answer."""

    acknowledge: Callable[[str, Json | None], None]
    changes: Changes
    choice: random.Random
    host: Host
    enabled: bool = True
    connections: list[Connection] = field(default_factory=list)
    refusals: int = 0
    handshakes: list[int] = field(default_factory=list)
    _tickets: set[str] = field(default_factory=set)

    def issue(self) -> str:
        """A new address. It opens one connection, whether or not the handshake succeeds."""
        if not self.enabled:
            raise Refusal("socket_mode_disabled")  # Slack's own name for this is not documented
        if len(self.connections) >= MAX_CONNECTIONS:
            raise Refusal("too_many_websockets")
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return f"ws://{self.host.address}/link/?ticket={ticket}&app_id={APP}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One handshake, and the connection that comes of it until its end."""
        ticket = request.query.get("ticket", "")
        status = self._handshake_status(ticket)
        self._tickets.discard(ticket)
        self.handshakes.append(status)
        self.changes.notify()
        if status != 101:
            return web.Response(status=status)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        await self._serve(Connection(socket, request))
        return socket

    def _handshake_status(self, ticket: str) -> int:
        if self.refusals:
            self.refusals -= 1
            return 503
        return 101 if ticket in self._tickets else 403

    async def _serve(self, connection: Connection) -> None:
        self.connections.append(connection)
        try:
            await connection.socket.send_json(self._hello())
            await connection.socket.ping(b"Ping from stand-in")
            self.changes.notify()
            async for frame in connection.socket:
                await self._received(connection, frame)
        except ConnectionError:
            pass  # cut in the middle of a frame: gone, like any other end
        finally:
            self.connections.remove(connection)
            self.changes.notify()

    async def _received(self, connection: Connection, frame: WSMessage) -> None:
        if connection.frozen:
            return
        if frame.type is WSMsgType.PING:
            connection.pings += 1
            await connection.socket.pong(frame.data)
        elif frame.type is WSMsgType.PONG:
            connection.pongs += 1
        elif frame.type is WSMsgType.TEXT:
            answer = json.loads(frame.data)
            self.acknowledge(answer["envelope_id"], answer.get("payload"))
        self.changes.notify()

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.connections),
            "debug_info": {"host": "stand-in", "approximate_connection_time": 18060},
            "connection_info": {"app_id": APP},
        }

    async def send(self, envelope: Envelope, attempt: Attempt) -> str:
        """Send to one open connection, any of them."""
        opened = [one for one in self.connections if not one.socket.closed]
        if not opened:
            return "connection_failed"
        connection = self.choice.choice(opened)
        connection.envelopes.append(envelope)
        try:
            await connection.socket.send_json(_frame(envelope, attempt))
        except ConnectionError:
            return "connection_failed"
        return ""

    async def disconnect(self, reason: DisconnectReason) -> None:
        """Announce the end to every connection. `link_disabled` also ends them and admits none."""
        self.enabled = reason != "link_disabled"
        message = {"type": "disconnect", "reason": reason, "debug_info": {"host": "stand-in"}}
        for connection in list(self.connections):
            await connection.socket.send_json(message)
            if not self.enabled:
                await connection.socket.close()

    async def stop(self) -> None:
        await asyncio.gather(*(connection.socket.close() for connection in list(self.connections)))


def _frame(envelope: Envelope, attempt: Attempt) -> Json:
    retry = {"retry_attempt": attempt.number, "retry_reason": attempt.reason}
    return {
        "envelope_id": envelope.id,
        "type": envelope.kind,
        "payload": envelope.payload,
        "accepts_response_payload": envelope.kind != "events_api",
        **(retry if envelope.kind == "events_api" else {}),
    }

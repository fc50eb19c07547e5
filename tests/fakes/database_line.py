"""A line to the database that can stop carrying and can be cut, as networks and dead servers do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

_PIECE = 1 << 16


class DatabaseLine:
    """Carries connections to a server; `url` leads through it."""

    def __init__(self, target: tuple[str, int] | str) -> None:
        self._target = target
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: list[asyncio.StreamWriter] = []
        self._carrying: set[asyncio.Task[None]] = set()
        self.url = ""

    @classmethod
    @asynccontextmanager
    async def to(cls, url: str) -> AsyncIterator[Self]:
        """Lend a line to the server of `url`."""
        line = cls(_address(url))
        server = await asyncio.start_server(line._carry, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        parts = urlsplit(url)
        account = parts.netloc.rpartition("@")[0]
        place = urlencode({"host": "127.0.0.1", "port": port})
        line.url = f"postgresql://{account}@{parts.path}?{place}"
        try:
            yield line
        finally:
            server.close()
            line.cut()
            await asyncio.gather(*line._carrying, return_exceptions=True)

    def lead_to(self, url: str) -> None:
        """Cut all connections; later ones lead to another server."""
        self._target = _address(url)
        self.cut()

    def stop_carrying(self) -> None:
        """Hold back what the client sends, until the line is cut."""
        self._flows.clear()

    def cut(self) -> None:
        """End all connections without a word."""
        self._flows.set()
        for writer in self._writers:
            writer.transport.abort()
        for task in self._carrying:
            task.cancel()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await (
                asyncio.open_unix_connection(self._target)
                if isinstance(self._target, str)
                else asyncio.open_connection(*self._target)
            )
        except OSError:  # the server is dead
            writer.transport.abort()
            return
        self._writers += [writer, back]
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._pour(source, sink, held=source is reader))
            self._carrying.add(task)

    async def _pour(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, held: bool
    ) -> None:
        try:
            while piece := await source.read(_PIECE):
                if held:
                    await self._flows.wait()
                sink.write(piece)
                await sink.drain()
        except OSError:
            pass  # either end has gone
        finally:
            sink.close()


def _address(url: str) -> tuple[str, int] | str:
    """Return where the server of `url` listens: a host and port, or the path of a socket."""
    parts = urlsplit(url)
    place = {name: values[0] for name, values in parse_qs(parts.query).items()}
    host = place.get("host") or parts.hostname or "localhost"
    port = int(place.get("port") or parts.port or 5432)
    return f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)

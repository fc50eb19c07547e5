"""A stand-in for the web, over real sockets on loopback: pages, and everything servers do wrong.

    async with WebServer() as web:
        web.pages["/news"] = page("<title>It happened</title>")
        ...
        assert web.asked == ["/news"]

It writes its answers byte by byte, so that no library mends them on the way.
"""

import asyncio
import socket
import ssl
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from typing import Self

Answer = Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Asked:
    """One recorded request; names of headers in lower case."""

    path: str
    headers: Mapping[str, str]
    method: str = "GET"
    body: bytes = b""


@dataclass
class WebServer:
    """Listens on a free port of `host` and records what it is asked. Unknown paths are 404.

    A connection stays open for further requests unless an answer closes it.
    """

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    pages: dict[str, Answer] = field(default_factory=dict)
    requests: list[Asked] = field(default_factory=list)
    connections: int = 0
    _server: asyncio.Server | None = None
    _busy: set[asyncio.Task[None]] = field(default_factory=set)

    def url(self, path: str = "/", *, host: str | None = None) -> str:
        """The address of a path, under another name where `host` is given."""
        return f"{'https' if self.tls else 'http'}://{host or self.host}:{self.port}{path}"

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.path for request in self.requests]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self.host, self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        self.connections += 1
        try:
            while not writer.is_closing():
                await self._answer(await reader.readuntil(b"\r\n\r\n"), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
        self._busy.discard(task)

    async def _answer(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        method, path, *_ = first.split()
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(path, headers, method, body)
        self.requests.append(asked)
        await self.pages.get(asked.path, reply(404, "Not Found"))(asked, writer)


def reply(status: int, body: str | bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
    """Any answer; its length is said."""
    content = body.encode() if isinstance(body, str) else body

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        said = {"Content-Length": str(len(content))} | dict(headers or {})
        writer.write(_head(status, said) + content)
        await writer.drain()

    return answer


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def page(
    body: str | bytes,
    content_type: str | None = HTML,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """A page; `content_type` None says none."""
    said = {"Content-Type": content_type} if content_type is not None else {}
    return reply(200, body, said | dict(headers or {}))


def feed(
    *headlines: str,
    title: str = "The Paper",
    language: str = "",
    links: str = "https://news.example/",
) -> Answer:
    """An RSS feed of these headlines, numbered from 1."""
    items = "".join(
        f"<item><guid>{links}{number}</guid><title>{escape(headline)}</title>"
        f"<link>{links}{number}</link></item>"
        for number, headline in enumerate(headlines, start=1)
    )
    said = f"<title>{title}</title>" + (f"<language>{language}</language>" if language else "")
    body = f'<rss version="2.0"><channel>{said}{items}</channel></rss>'
    return reply(200, body, {"Content-Type": "application/rss+xml"})


def redirect(to: str, status: int = 302) -> Answer:
    """A redirect with a body that nobody should read."""
    return reply(status, b"<title>elsewhere</title>", {"Location": to})


def packed(body: bytes, encoding: str = "gzip") -> Answer:
    """A page under a Content-Encoding; `body` is what goes over the wire."""
    return page(body, headers={"Content-Encoding": encoding})


def gzipped(body: bytes, level: int = 9) -> bytes:
    """`body` as one gzip member."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()


def gzip_bomb(megabytes: int) -> bytes:
    """One gzip member that unpacks to so many megabytes of blanks, a thousandth as long."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    megabyte, checksum = b" " * 1_000_000, 0
    packed = packer.compress(megabyte) + packer.flush(zlib.Z_FULL_FLUSH)  # may stand repeatedly
    for _ in range(megabytes):
        checksum = zlib.crc32(megabyte, checksum)
    end = b"\x03\0" + struct.pack("<II", checksum, megabytes * len(megabyte))
    return b"\x1f\x8b\x08" + bytes(7) + packed * megabytes + end


def endless(piece: bytes = b"x" * 65536, headers: Mapping[str, str] | None = None) -> Answer:
    """A body that does not end until the client hangs up."""

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(
            _head(200, {"Content-Type": HTML, "Connection": "close"} | dict(headers or {}))
        )
        while True:
            writer.write(piece)
            await writer.drain()

    return answer


def dripping(pause: float) -> Answer:
    """A page that comes a byte at a time, with `pause` seconds between them, for ever."""

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(200, {"Content-Type": HTML, "Connection": "close"}))
        while True:
            writer.write(b"<")
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


async def silent(_: Asked, __: asyncio.StreamWriter) -> None:
    """Take the request and say nothing."""
    await asyncio.Event().wait()


async def stalled(_: Asked, writer: asyncio.StreamWriter) -> None:
    """Begin a page and send no more."""
    writer.write(_head(200, {"Content-Type": HTML, "Content-Length": "5000"}) + b"<title>")
    await asyncio.Event().wait()


async def reset(_: Asked, writer: asyncio.StreamWriter) -> None:
    """Cut the connection without a word."""
    writer.transport.abort()


async def cut_in_the_body(_: Asked, writer: asyncio.StreamWriter) -> None:
    """Promise a long page, send a little of it, and cut the connection."""
    writer.write(_head(200, {"Content-Type": HTML, "Content-Length": "5000"}) + b"<title>")
    await writer.drain()
    writer.close()


async def huge_headers(_: Asked, writer: asyncio.StreamWriter) -> None:
    """Send headers that do not end."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Filler: " + b"x" * 8192 + b"\r\n")
        await writer.drain()


def loopback_resolver(
    *names: str,
) -> Callable[..., list[tuple[int, int, int, str, tuple[str, int]]]]:
    """A stand-in for socket.getaddrinfo that knows `names`, all on 127.0.0.1, and no other.

    Addresses are read as glibc does, old spellings such as 127.1 and 0x7f.1 included.
    """

    def resolve(
        host: str, port: int, *_: object
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        if host in names:
            address = "127.0.0.1"
        else:
            try:
                address = socket.inet_ntoa(socket.inet_aton(host))
            except OSError as exc:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from exc
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    return resolve

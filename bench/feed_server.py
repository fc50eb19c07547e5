"""Serves a thousand feeds on one port, one per host name; some are slow, some fail.

`python -m bench.feed_server SLOW_SECONDS` prints its port and serves until it is terminated.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress

TENTH = 10
ENTRIES = 40
_SUMMARY = "Somebody said something about it, and somebody else did not agree at all. " * 6


def kind_of(number: int) -> str:
    """Return how feed `number` behaves."""
    return {0: "slow", 1: "failing"}.get(number % TENTH, "ordinary")


def feed(number: int) -> bytes:
    """Return a feed of ordinary length, different from all others."""
    items = "".join(
        f"<item><guid>{number}-{one}</guid><title>Report {one} of town{number} about harbour{one}"
        f"</title><link>https://f{number}.test/{one}</link><description>{_SUMMARY}</description>"
        "<pubDate>Mon, 01 Jun 2026 09:00:00 GMT</pubDate></item>"
        for one in range(ENTRIES)
    )
    return f'<rss version="2.0"><channel><title>F{number}</title>{items}</channel></rss>'.encode()


class Server:
    """Counts the bytes that it sends."""

    def __init__(self, slow: float) -> None:
        self.slow = slow
        self.sent = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            pairs = (line.partition(":") for line in head.split("\r\n")[1:] if line)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            answer = await self._answer(head.split(maxsplit=2)[1], headers)
            self.sent += len(answer)
            writer.write(answer)
            await writer.drain()
        writer.close()

    async def _answer(self, path: str, headers: Mapping[str, str]) -> bytes:
        if path.startswith("/slow/"):
            self.slow = float(path.removeprefix("/slow/"))
            return _written(200, b"")
        if path == "/sent":
            return _written(200, json.dumps(self.sent).encode())
        number = int(headers["host"].partition(".")[0].removeprefix("f"))
        kind = kind_of(number)
        if kind == "failing":
            return _written(500, b"") if number % 20 == 1 else b"nonsense\r\n\r\n"
        if kind == "slow":
            await asyncio.sleep(self.slow)
        tag = f'"{number}"'
        if headers.get("if-none-match") == tag:
            return _written(304, b"", tag)
        return _written(200, feed(number), tag)


def _written(status: int, body: bytes, tag: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/rss+xml", "Connection: close"]
    lines += [f"ETag: {tag}"] if tag else []
    lines += [f"Content-Length: {len(body)}"] if status != 304 else []
    return "\r\n".join([*lines, "", ""]).encode() + body


async def main() -> None:
    """Serve until terminated."""
    server = Server(float(sys.argv[1]))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1000)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

"""The web adapter as `presagio serve` runs it: real sockets, beside the other adapters."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import pytest

from bot import listening as connections
from bot.adapter import AdapterFailed
from bot.listening import LARGEST, Connections
from bot.web.service import WebService
from tests.bot.web.stage import judging, web_stage
from tests.fakes.model import ModelServer, scoring, slow
from tests.network import find_free_port
from tests.patience import PATIENCE, until
from tests.scenarios.stage import HEADLINE, Stage, judged_by_words

_SECONDS = PATIENCE


@dataclass
class Served:
    """A service that runs, and what it said."""

    service: WebService
    running: asyncio.Task[None]
    said: list[str] = field(default_factory=list)


@asynccontextmanager
async def served(
    environ: Mapping[str, str] | str, *, patience: float = 60, port: str = "0", **web: Any
) -> AsyncIterator[Served]:
    """Lend a service that listens on a free port of 127.0.0.1."""
    async with web_stage(environ, patience=patience, port=port, **web) as stage:
        said: list[str] = []
        service = WebService(stage.shared, tell=said.append)
        running = asyncio.create_task(service.run())
        await until(lambda: service.status().listening or running.done())
        try:
            yield Served(service, running, said)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await service.stop(2)
            assert not service.status().listening


@pytest.fixture
async def one(coffee_url: str) -> AsyncIterator[Served]:
    async with served(coffee_url) as one:
        yield one


async def send(one: Served, said: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(one))
    writer.write(said)
    return reader, writer


async def test_service_prints_its_address_and_answers_there(one: Served) -> None:
    assert one.said == [f"The web page is at {one.service.address}"]
    async with httpx.AsyncClient() as client:
        answered = await client.get(one.service.address)
        assert answered.status_code == 200
        assert "server" not in answered.headers
        # Over a socket too, hostile bytes are an answer and no breakdown.
        strange = await client.get(f"{one.service.address}api/documents/demo/%ff%00%2e%2e")
        assert strange.status_code == 404


async def test_service_prints_its_access_rules_at_the_start(coffee_url: str) -> None:
    async with served({"DATABASE_URL": coffee_url, "WEB_API_KEYS": "sesame"}) as one:
        assert one.said[1].startswith("The API asks for a key of WEB_API_KEYS; the page asks for")


async def test_a_port_that_is_taken_is_said(coffee_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with served(coffee_url, port=port) as one:
            with pytest.raises(AdapterFailed, match=f"cannot listen on 127.0.0.1 port {port}"):
                await one.running


@asynccontextmanager
async def asking(
    coffee_url: str, seconds: float
) -> AsyncIterator[tuple[Served, ModelServer, Callable[[], Awaitable[httpx.Response]]]]:
    """Lend a service whose model answers after so many seconds, and what asks it for a prophecy."""
    async with (
        ModelServer([slow(seconds, scoring(judged_by_words))]) as model,
        served(judging(coffee_url, model)) as one,
        httpx.AsyncClient(timeout=600) as client,
    ):
        address = f"{one.service.address}api/prophecy"
        yield one, model, partial(client.get, address, params={"headline": HEADLINE})


async def test_shutdown_finishes_requests_under_way(coffee_url: str) -> None:
    async with asking(coffee_url, 1.0) as (one, model, ask):
        asked = asyncio.ensure_future(ask())
        await model.until_asked(1)
        one.running.cancel()
        assert (await asked).json()["judged"]
        with pytest.raises(httpx.ConnectError):
            await ask()


async def test_shutdown_cuts_off_hanging_requests(coffee_url: str) -> None:
    async with asking(coffee_url, 600.0) as (one, model, ask):
        asked = asyncio.ensure_future(ask())
        await model.until_asked(1)
        one.running.cancel()
        async with asyncio.timeout(_SECONDS):
            await asyncio.gather(one.running, return_exceptions=True)
            await one.service.stop(0.5)
        async with asyncio.timeout(_SECONDS):
            with suppress(httpx.HTTPError):
                assert (await asked).status_code >= 500


async def test_forwarded_address_is_used_only_from_a_trusted_proxy(coffee_url: str) -> None:
    for proxies, statuses in (("[]", [200, 429]), ('["127.0.0.1"]', [200, 200])):
        async with (
            served(coffee_url, trusted_proxies=proxies, requests_per_minute="1") as one,
            httpx.AsyncClient() as client,
        ):
            answered = [
                await client.get(
                    f"{one.service.address}api/corpora",
                    headers={"X-Forwarded-For": f"192.0.2.{number}"},
                )
                for number in range(2)
            ]
            assert [each.status_code for each in answered] == statuses


async def test_service_runs_beside_a_chat_and_counts_its_searches(stage: Stage) -> None:
    port = find_free_port()
    stage.environment |= {"PRESAGIO_WEB__ENABLED": "true", "PRESAGIO_WEB__PORT": str(port)}
    async with stage.serving(), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        alice = stage.telegram.user("Alice")
        asked = await alice.says(stage.telegram.private_chat(alice), HEADLINE)
        await asked.answer()
        adapters = (await client.get("/healthz")).json()["faces"]
        assert adapters["telegram"]["listening"]
        assert adapters["web"]["listening"]
        figures = (await client.get("/metrics")).text
        assert 'presagio_searches_total{found="something",mode="lexical"} 1.0' in figures


async def test_connections_set_tcp_nodelay(one: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a body waits for its head to be confirmed, that takes 40 ms each time."""
    enter, at_once = Connections.enter, list[int]()

    def noting(self: Connections, connection: asyncio.Transport, address: str | None) -> None:
        sent_by: socket.socket = connection.get_extra_info("socket")
        at_once.append(sent_by.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        enter(self, connection, address)

    monkeypatch.setattr(Connections, "enter", noting)
    async with httpx.AsyncClient() as client:
        await client.get(f"{one.service.address}healthz")
    assert at_once
    assert all(at_once)


async def until_closed(reader: asyncio.StreamReader) -> None:
    """Wait until the other side has closed, whatever it says before."""
    async with asyncio.timeout(_SECONDS):
        with suppress(ConnectionError):
            while await reader.read(1 << 16):
                pass


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /healthz HT",
        b"POST /compose HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na",
    ],
    ids=["nothing", "half a head", "half a body"],
)
async def test_half_a_request_is_not_waited_for_for_ever(
    one: Served, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    reader, writer = await send(one, said)
    await until_closed(reader)
    writer.close()
    async with httpx.AsyncClient() as client:
        answered = await client.get(f"{one.service.address}healthz")
        assert answered.status_code == 200


async def test_slow_bytes_do_not_extend_the_request_timeout(
    one: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    reader, writer = await send(one, b"")
    clock = asyncio.get_running_loop().time
    begun, closed = clock(), asyncio.create_task(until_closed(reader))
    while not closed.done():
        with suppress(ConnectionError):
            writer.write(b"G")
            await writer.drain()
        await asyncio.wait({closed}, timeout=0.05)
    await closed
    assert clock() - begun >= 0.5
    writer.close()


async def until_answered(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(_SECONDS):
        return await reader.readuntil(b"\r\n\r\n")


def request_head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


class TestBodies:
    @pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
    async def test_an_announced_body_that_is_too_large_is_refused_at_every_path(
        self, coffee_url: str, method: str
    ) -> None:
        paths = ("/", "/compose", "/api/compose", "/api/search", "/api/admin/reload", "/healthz",
                 "/metrics", "/static/page.css", "/nothing-here")  # fmt: skip
        async with served({"DATABASE_URL": coffee_url, "WEB_API_KEYS": "k"}) as one:
            for path in paths:
                head = request_head(method, path, "Content-Length: 200000000")
                reader, writer = await send(one, head)
                answered = await until_answered(reader)
                assert answered.startswith(b"HTTP/1.1 413 "), path
                assert b"nosniff" in answered
                writer.transport.abort()

    @pytest.mark.parametrize("path", ["/api/compose", "/compose"])
    async def test_a_body_of_unknown_length_is_read_up_to_the_limit(
        self, one: Served, path: str
    ) -> None:
        reader, writer = await send(one, request_head("POST", path, "Transfer-Encoding: chunked"))
        answering = asyncio.create_task(until_answered(reader))
        part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(2 * LARGEST // len(part)):
            writer.write(part)
            await writer.drain()
        assert (await answering).startswith(b"HTTP/1.1 413 ")
        writer.transport.abort()

    async def test_a_body_comes_in_no_more_than_some_pieces(self, one: Served) -> None:
        head = request_head("POST", "/api/compose", "Transfer-Encoding: chunked")
        reader, writer = await send(one, head + b"1\r\nx\r\n" * 20_000)
        assert (await until_answered(reader)).startswith(b"HTTP/1.1 400 ")
        await until_closed(reader)
        writer.close()

    @pytest.mark.parametrize("length", ["Content-Length: 900000", "Transfer-Encoding: chunked"])
    async def test_without_a_key_no_body_is_read(self, coffee_url: str, length: str) -> None:
        async with served({"DATABASE_URL": coffee_url, "WEB_API_KEYS": "k"}) as one:
            reader, writer = await send(one, request_head("POST", "/api/compose", length))
            assert (await until_answered(reader)).startswith(b"HTTP/1.1 401 ")
            writer.transport.abort()

    async def test_what_is_no_request_is_answered_with_the_headers_of_every_response(
        self, one: Served
    ) -> None:
        reader, writer = await send(one, b"no HTTP at all\r\n\r\n")
        answered = await until_answered(reader)
        assert answered.startswith(b"HTTP/1.1 400 ")
        assert b"nosniff" in answered
        assert b"default-src 'none'" in answered
        writer.close()


async def test_an_answer_that_takes_longer_than_a_request_may_is_given(
    coffee_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)
    async with asking(coffee_url, 1.5) as (_, _, ask):
        assert (await ask()).json()["judged"]


async def test_a_visitor_who_leaves_is_no_error(
    coffee_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(coffee_url, 0.3) as (one, model, ask), httpx.AsyncClient() as client:
        for request in (
            request_head("POST", "/compose", "Content-Length: 9") + b"a",
            request_head("GET", "/api/prophecy?headline=coffee+prices"),
        ):
            _, writer = await send(one, request)
            await writer.drain()
            if request.startswith(b"GET"):
                await model.until_asked(1)
            else:
                await client.get(f"{one.service.address}healthz")  # it has been read by then
            writer.transport.abort()
        assert (await ask()).json()["judged"]
    assert [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}] == []


def port_of(one: Served) -> int:
    return int(one.service.address.rpartition(":")[2].strip("/"))

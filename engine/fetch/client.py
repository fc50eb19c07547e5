"""Fetches links from strangers, and reaches only the public web.

Each hop of a redirect opens its own connection: the name is looked up once, every address in the
answer is checked, and the connection goes to a checked address (docs/decisions/0007-fetching.md).
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import version
from ipaddress import ip_network
from typing import Any

import httpcore
import httpx
from ssrfguard import DEFAULT_DENIED, AddressTable, Block, Policy, Reach
from ssrfguard.httpx import AsyncSafeBackend, AsyncSafeTransport

from engine.errors import FetchFailed, FetchTimeout, FetchTooLarge, SettingsError
from engine.fetch import Fetched, FetchLimits, shown_host
from engine.fetch.faults import (
    PIECES_PER_TURN,
    CountingBackend,
    MeteredStream,
    Pieces,
    Turns,
    mapped_fetch_errors,
    require_no_password,
    require_type,
    require_usable,
)
from engine.messages import Message
from engine.settings.fetching import FetchSettings
from engine.values import Closable

# Resolves a name; has the signature and result of socket.getaddrinfo.
Resolver = Callable[..., Iterable[tuple[int, int, int, str, tuple[Any, ...]]]]

# Below 1024 only the web's ports: a link must not make this program talk to a mail or name server.
PORTS = frozenset({80, 443, *range(1024, 65536)})

# The guard's table covers what IANA has named. Addresses outside 2000::/3 are not routed on the
# internet, but a gateway of the local network may translate them: some read ::ffff:0:7f00:1 as
# 127.0.0.1.
_UNALLOCATED = tuple(
    Block(ip_network(network), "IPv6 outside 2000::/3", "RFC4291", Reach.DENIED)
    for network in ("::/3", "4000::/2", "8000::/1")
)
_TABLE = AddressTable((*DEFAULT_DENIED.blocks, *_UNALLOCATED))
# The only encoding offered to servers. Others that compress are refused, nested gzip included; any
# other word in the header, such as "UTF-8", says nothing, and the bytes tell what they are.
ACCEPT_ENCODING = "gzip"
_GZIP = frozenset({"gzip", "x-gzip"})
_COMPRESSED = _GZIP | {"br", "compress", "x-compress", "dcb", "dcz", "deflate", "zstd"}
_GZIP_BEGINS = b"\x1f\x8b\x08"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_PERMANENT = frozenset({301, 308})
# For each request the library's pool goes through all requests in progress: a hundred of them block
# the event loop for half a second.
_FETCHES_AT_ONCE = 16
_CONNECT_SECONDS = 5.0  # for each address that is tried


@lru_cache(maxsize=8)  # 64,000 ports are looked at
def address_policy(allow_networks: tuple[str, ...] = ()) -> Policy:
    """Return the rules for fetchers: the public internet, and `allow_networks` (CIDR).

    Raises SettingsError if one of them is not a network, or embeds IPv4 addresses.
    """
    try:
        networks = tuple(ip_network(network) for network in allow_networks)
        return Policy(
            denied_networks=_TABLE,
            allowed_networks=networks,
            allowed_ports=PORTS,
            on_partial_block="reject",
        )
    except ValueError as exc:
        raise SettingsError(
            Message("fetch.allow_networks names a network that cannot be allowed."),
            fix=Message('Write networks like "10.1.0.0/16"; none of them may wrap IPv4 in IPv6.'),
        ) from exc


class Body:
    """Collects the bytes of one answer from `host`, at most `limit` both as sent and as unpacked.

    They are unpacked if they begin as gzip does, whatever the header says. Raises FetchFailed for a
    Content-Encoding that compresses and was not asked for.
    """

    def __init__(self, *, host: str, encoding: str, limit: int) -> None:
        named = [name.strip().lower() for name in encoding.split(",")]
        packed = [name for name in named if name in _COMPRESSED]
        if len(packed) > 1 or not _GZIP.issuperset(packed):
            raise FetchFailed(
                Message("{host} answered in an encoding that was not asked for.", host=host)
            )
        self._host = host
        self._limit = limit
        self._begun = bytearray()  # until it is known what they are
        self._gzip: zlib._Decompress | None = None
        self._is_known = False
        self._arrived = 0
        self._content = bytearray()

    def add(self, piece: bytes) -> None:
        """Add the next bytes from the network. Raises FetchTooLarge, FetchFailed."""
        self._arrived += len(piece)
        if not self._is_known:
            self._begun += piece
            if len(self._begun) < len(_GZIP_BEGINS) and self._arrived <= self._limit:
                return
            piece = self._begin()
        self._content += piece if self._gzip is None else self._unpack(piece)
        if self.is_too_long:
            raise FetchTooLarge(
                Message(
                    "The answer of {host} is longer than {limit:g} MB.",
                    host=self._host,
                    limit=self._limit / 1000000.0,
                ),
                fix=Message("Paste the headline instead."),
            )

    def content(self) -> bytes:
        """Return the body up to the limit. Raises FetchFailed if compressed data ends too early."""
        if not self._is_known:
            self._content += self._begin()
        if self.is_too_long:
            return bytes(self._content[: self._limit])
        if self._gzip is not None and not self._gzip.eof:
            raise self._damage_error()
        return bytes(self._content)

    @property
    def is_too_long(self) -> bool:
        """Whether more than the limit came."""
        return max(self._arrived, len(self._content)) > self._limit

    def _begin(self) -> bytes:
        """Find out what the bytes are, and return those that came so far."""
        self._is_known = True
        if self._begun.startswith(_GZIP_BEGINS):
            self._gzip = zlib.decompressobj(_GZIP_WINDOW)
        return bytes(self._begun)

    def _unpack(self, piece: bytes) -> bytearray:
        maximum = self._limit + 1 - len(self._content)
        unpacked = bytearray()
        while piece and len(unpacked) < maximum:
            if self._gzip is None or self._gzip.eof:
                if not piece.startswith(b"\x1f"):
                    break  # padding behind the last member
                self._gzip = zlib.decompressobj(_GZIP_WINDOW)
            try:
                unpacked += self._gzip.decompress(piece, maximum - len(unpacked))
            except zlib.error as exc:
                raise self._damage_error() from exc
            piece = self._gzip.unused_data
        return unpacked

    def _damage_error(self) -> FetchFailed:
        return FetchFailed(
            Message("The answer of {host} is damaged.", host=self._host),
            fix=Message("Try again later."),
        )


class _Transport(AsyncSafeTransport):
    """The guarded transport, over connections that count what arrives and are used once."""

    def __init__(
        self, policy: Policy, resolver: Resolver | None, at_once: int, turns: Turns
    ) -> None:
        super().__init__(policy=policy, trust_env=False)
        guarded = AsyncSafeBackend(policy=policy, resolver=resolver, resolver_slots=at_once)
        # A pool of our own, whose reads take turns: while 45 feeds sent without pause, a search
        # took 34 s, and takes 0.1 s with it.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            max_connections=at_once,
            max_keepalive_connections=0,
            network_backend=CountingBackend(guarded, turns),
        )


class Fetcher(Closable):
    """Fetches with GET. Holds connections: use `async with`, or `aclose`.

    `resolver` replaces socket.getaddrinfo; its answers are checked all the same. At most `at_once`
    fetches run at a time; the others wait, and waiting counts towards their time limit.
    """

    def __init__(
        self,
        settings: FetchSettings,
        *,
        resolver: Resolver | None = None,
        at_once: int = _FETCHES_AT_ONCE,
    ) -> None:
        self._turns = Turns()
        self._room = asyncio.Semaphore(at_once)
        self._http = httpx.AsyncClient(
            transport=_Transport(
                address_policy(settings.allow_networks), resolver, at_once, self._turns
            ),
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # keeps none
            headers={
                "User-Agent": user_agent(settings.user_agent_contact),
                "Accept-Encoding": ACCEPT_ENCODING,
            },
            timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(
        self,
        url: str,
        *,
        limits: FetchLimits,
        accept: tuple[str, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Return the answer, which must have one of the media types in `accept` if any are given.

        An answer without a Content-Type is accepted. Raises FetchError.
        """
        wanted = {"Accept": ", ".join((*accept, "*/*;q=0.1"))} | dict(headers or {})
        async with self._limit_time(limits.seconds, url):
            with mapped_fetch_errors(shown_host(url)):
                request = self._http.build_request("GET", url, headers=wanted)
                require_no_password(request.url, shown_host(url))
            return await self._follow_redirects(request, limits, accept)

    @asynccontextmanager
    async def _limit_time(self, seconds: float, url: str) -> AsyncIterator[None]:
        """Wait for room, and limit the time of that and of the block. Raises FetchTimeout."""
        try:
            async with asyncio.timeout(seconds), self._room:
                yield
        except TimeoutError as exc:
            raise FetchTimeout(
                Message(
                    "{host} took longer than {seconds:g} s.", host=shown_host(url), seconds=seconds
                ),
                fix=Message("Try again later, or paste the headline."),
            ) from exc

    async def _follow_redirects(
        self, request: httpx.Request, limits: FetchLimits, accept: tuple[str, ...]
    ) -> Fetched:
        moved: str | None = None
        permanent = True
        for _ in range(limits.redirects + 1):
            async with self._send(request) as response:
                if response.next_request is None:
                    return await self._read_response(response, limits, accept, moved)
                request = response.next_request
                permanent = permanent and response.status_code in _PERMANENT
                moved = str(request.url) if permanent else moved
        raise FetchFailed(
            Message("{host} was one redirect too many.", host=shown_host(str(request.url))),
            fix=Message("Paste the address of the page itself."),
        )

    @asynccontextmanager
    async def _send(self, request: httpx.Request) -> AsyncIterator[httpx.Response]:
        """Yield the answer to one request, its body unread."""
        with mapped_fetch_errors(shown_host(str(request.url))):
            response = await self._http.send(request, stream=True, follow_redirects=False)
            try:
                yield response
            finally:
                await response.aclose()

    async def _read_response(
        self,
        response: httpx.Response,
        limits: FetchLimits,
        accept: tuple[str, ...],
        moved: str | None,
    ) -> Fetched:
        host = shown_host(str(response.url))
        require_usable(response, host)
        require_type(response, host, accept)
        encoding = response.headers.get("Content-Encoding", "")
        body = Body(host=host, encoding=encoding, limit=limits.bytes)
        pieces = Pieces(host)
        stream: MeteredStream = response.extensions["network_stream"]
        stream.begin_body()
        async for piece in response.aiter_raw():
            try:
                body.add(piece)
            except FetchTooLarge:
                if not limits.is_cut:
                    raise
                break
            if pieces.add(len(piece)) % PIECES_PER_TURN == 0:
                await self._turns.wait()
        return Fetched(
            url=str(response.url),
            status=response.status_code,
            headers=response.headers,
            body=body.content(),
            moved_permanently_to=moved,
        )


def user_agent(contact: str) -> str:
    """Return the User-Agent header: the program's name, version and contact."""
    name = f"Presagio/{version('presagio')}"
    return f"{name} (+{contact})" if contact else name

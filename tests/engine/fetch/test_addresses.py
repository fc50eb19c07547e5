"""No connection leaves for an address that is not on the public internet."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.errors import FetchError, FetchFailed, FetchRefused, FetchTimeout, SettingsError
from engine.feeds.lookup import address_of
from engine.fetch import FetchLimits, shown_host
from engine.fetch.client import Fetcher, Resolver, address_policy
from engine.settings.fetching import FetchSettings
from engine.text.address import link_key
from tests.fakes.web import WebServer, loopback_resolver, page, redirect

LIMITS = FetchLimits(seconds=5.0, bytes=100_000)
PUBLIC = "93.184.216.34"

HOSTILE = (
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST:8080/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://198.18.0.1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:5ef5:79fb:0:0:80ff:fffe]/",  # Teredo: the client is 127.0.0.1
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[fc00::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://user:secret@public.example/",
    "http://public.example@127.0.0.1/",
    "http://public.example\\@127.0.0.1/",
    "http://public.example:25/",
    "http://public.example:0/",
    "http://public.example:99999/",
    "file:///etc/passwd",
    "ftp://public.example/",
    "gopher://public.example/",
    "javascript:alert(1)",
    "data:text/html,<title>x</title>",
    "//public.example/",
    "public.example",
    "http:///etc/passwd",
    "http://",
    "",
    "http://[::1",
    "http://public.example/\r\nX: y",
    "http://a" + "b" * 300 + ".example/",
)


@contextmanager
def recorded_connections() -> Iterator[list[tuple[str, int]]]:
    """Replace the opening of sockets: it records the address, and nobody answers."""
    opened: list[tuple[str, int]] = []

    async def connect_tcp(remote_host: object, remote_port: int, **_: object) -> None:
        opened.append((str(remote_host), remote_port))
        raise ConnectionRefusedError

    with patch("anyio.connect_tcp", connect_tcp):
        yield opened


def answering(*rounds: Sequence[str]) -> tuple[Resolver, list[str]]:
    """A resolver that gives the next round of addresses at each lookup, and what it was asked."""
    asked: list[str] = []

    def resolve(host: str, port: int, *_: object) -> list[tuple[int, int, int, str, Any]]:
        addresses = rounds[min(len(asked), len(rounds) - 1)]
        asked.append(host)
        return [_answer(address, port) for address in addresses]

    return resolve, asked


def _answer(address: str, port: int) -> tuple[int, int, int, str, Any]:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))


async def fetch(url: str, resolver: Resolver, networks: tuple[str, ...] = ()) -> None:
    async with Fetcher(FetchSettings(allow_networks=networks), resolver=resolver) as fetcher:
        await fetcher.get(url, limits=LIMITS)


def literal(host: str, port: int, *_: object) -> list[tuple[int, int, int, str, Any]]:
    """A resolver for the table: written addresses, "localhost", and public.example."""
    if host.rstrip(".").lower() == "localhost":
        return [_answer("127.0.0.1", port), _answer("::1", port)]
    if host == "public.example":
        return [_answer(PUBLIC, port)]
    if ":" in host:
        return [_answer(host, port)]
    return loopback_resolver()(host, port)


@pytest.mark.parametrize("url", HOSTILE)
async def test_a_hostile_address_is_refused_without_a_connection(url: str) -> None:
    with recorded_connections() as opened, pytest.raises(FetchRefused):
        await fetch(url, literal)
    assert opened == []


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://public.example/", (PUBLIC, 80)),
        ("https://public.example/", (PUBLIC, 443)),
        ("http://public.example:8080/feed", (PUBLIC, 8080)),
        ("HTTP://8.8.8.8/", ("8.8.8.8", 80)),
        ("http://0x08080808/", ("8.8.8.8", 80)),
        ("http://[2606:4700:4700::1111]/", ("2606:4700:4700::1111", 80)),
        ("http://[64:ff9b::808:808]/", ("64:ff9b::808:808", 80)),
    ],
)
async def test_a_public_address_is_connected_to(url: str, address: tuple[str, int]) -> None:
    with recorded_connections() as opened, pytest.raises(FetchFailed):
        await fetch(url, literal)
    assert opened == [address]


@pytest.mark.parametrize("url", ["http://nación.example/", "http://xn--nacin-3ta.example/"])
async def test_a_name_with_accents_is_looked_up_in_its_ascii_form(url: str) -> None:
    resolver, asked = answering([PUBLIC])
    with recorded_connections() as opened, pytest.raises(FetchFailed):
        await fetch(url, resolver)
    assert (asked, opened) == (["xn--nacin-3ta.example"], [(PUBLIC, 80)])


async def test_a_name_with_a_trailing_dot_is_a_name() -> None:
    resolver, asked = answering([PUBLIC])
    with recorded_connections() as opened, pytest.raises(FetchFailed):
        await fetch("http://public.example./", resolver)
    assert (asked, opened) == (["public.example."], [(PUBLIC, 80)])


@pytest.mark.parametrize("private", ["127.0.0.1", "10.1.1.1", "::1", "64:ff9b::7f00:1"])
async def test_a_host_name_with_any_private_address_is_refused(private: str) -> None:
    resolver, _ = answering([PUBLIC, private, "2606:4700:4700::1111"])
    with recorded_connections() as opened, pytest.raises(FetchRefused):
        await fetch("http://both.example/", resolver)
    assert opened == []


async def test_the_checked_address_is_used_and_the_name_not_looked_up_again() -> None:
    resolver, asked = answering([PUBLIC], ["127.0.0.1"])
    with recorded_connections() as opened:
        with pytest.raises(FetchFailed):
            await fetch("http://rebinding.example/", resolver)
        assert (asked, opened) == (["rebinding.example"], [(PUBLIC, 80)])
        with pytest.raises(FetchRefused):
            await fetch("http://rebinding.example/", resolver)
    assert opened == [(PUBLIC, 80)]


async def test_at_most_four_addresses_are_tried() -> None:
    """How many there are is up to whoever owns the name."""
    addresses = [f"8.8.{number}.8" for number in range(50)]
    tried: list[str] = []

    async def connect_tcp(remote_host: object, **_: object) -> None:
        tried.append(str(remote_host))
        raise TimeoutError

    resolver, _ = answering(addresses)
    with patch("anyio.connect_tcp", connect_tcp), pytest.raises(FetchTimeout) as caught:
        await fetch("http://many.example/", resolver)
    assert tried == addresses[:4]
    assert caught.value.message == "many.example does not answer."


async def test_dns_rebinding_between_redirects_is_refused() -> None:
    """127.0.0.1 stands for the public web here, 127.0.0.2 for a private machine."""
    async with WebServer() as web, WebServer(host="127.0.0.2", port=web.port) as private:
        web.pages["/"] = redirect(web.url("/secret", host="rebinding.example"))
        private.pages["/secret"] = page("<title>secret</title>")
        resolver, asked = answering(["127.0.0.1"], ["127.0.0.2"])
        with pytest.raises(FetchRefused):
            await fetch(web.url("/", host="rebinding.example"), resolver, ("127.0.0.1/32",))
        assert asked == ["rebinding.example", "rebinding.example"]
        assert (web.asked, private.connections) == (["/"], 0)


async def test_a_redirect_to_a_private_address_is_not_followed() -> None:
    async with WebServer() as web:
        for path, target in {
            "/a": "http://10.0.0.1/",
            "/b": "http://[::1]/",
            "/c": "file:///etc/passwd",
            "/d": "//169.254.169.254/latest/",
            "/e": "http://user:secret@127.0.0.1/",
            "/f": "gopher://127.0.0.1/",
            "/g": f"http://127.0.0.2:{web.port}/",
        }.items():
            web.pages[path] = redirect(target)
            with pytest.raises(FetchRefused):
                await fetch(web.url(path), literal, ("127.0.0.1/32",))


async def test_loopback_is_refused_unless_it_is_allowed() -> None:
    async with WebServer() as web:
        web.pages["/"] = page("<title>here</title>")
        with pytest.raises(FetchRefused):
            await fetch(web.url(), literal)
        assert web.connections == 0
        await fetch(web.url(), literal, ("127.0.0.0/8",))
        assert web.asked == ["/"]


@pytest.mark.parametrize("network", ["10.0.0.0/33", "intranet", "10.0.0.1/8", "64:ff9b::/96"])
def test_a_network_that_cannot_be_allowed_is_a_settings_error(network: str) -> None:
    with pytest.raises(SettingsError, match=r"fetch\.allow_networks"):
        address_policy((network,))


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


_ADDRESS = st.one_of(
    st.sampled_from([PUBLIC, "8.8.8.8", "2606:4700:4700::1111"]),
    st.ip_addresses(v=4),
    st.ip_addresses(v=6),
    st.ip_addresses(v=4, network="127.0.0.0/8"),
    st.ip_addresses(v=4, network="100.64.0.0/10"),
    st.ip_addresses(v=6, network="::/95"),
    st.ip_addresses(v=6, network="::ffff:0:0/96"),
    st.ip_addresses(v=6, network="64:ff9b::/96"),
    st.ip_addresses(v=6, network="2002::/16"),
    st.ip_addresses(v=6, network="2001::/23"),
    st.ip_addresses(v=6, network="fe80::/9"),
).map(str)
_HOST = st.one_of(
    _ADDRESS,
    _ADDRESS.map(_bracketed),
    st.integers(0, 2**32).map(str),
    st.integers(0, 2**32).map(hex),
    st.from_regex(r"(0?x?[0-9a-f]{1,4}\.){1,3}[0-9]{1,9}\.?", fullmatch=True),
    st.sampled_from(["localhost", "public.example", "nación.example", "a..b", "-", "%31.1.1.1"]),
    st.from_regex(r"(xn--[a-z0-9-]{0,9}\.?){1,2}", fullmatch=True),
    st.text(max_size=20),
)
_PLAIN_URL = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.one_of(st.just("name.example"), _ADDRESS.map(_bracketed)),
    st.sampled_from(["", "a?b=c"]),
)
_ODD_URL = st.one_of(
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(
            ["http://", "https://", "HTTP:/\\", "http:", "//", "ftp://", "file://", ""]
        ),
        st.sampled_from(["", "", "user@", "a:b@", "@", "\\@", "127.0.0.1#@", "%40"]),
        _HOST,
        st.sampled_from(["", "", ":80", ":8080", ":22", ":", ":x", ":70000"]),
        st.sampled_from(["", "/", "/a?b=c#d", "?@127.0.0.1/", "\\..\\", "#"]),
    ),
    st.text(),
)


class Lookup:
    """A resolver: written addresses are themselves, names have the `answers` of the moment."""

    answers: Sequence[str] = ()

    def __call__(self, host: str, port: int, *arguments: object) -> list[Any]:
        try:
            return literal(host, port, *arguments)
        except OSError:
            return [_answer(address, port) for address in self.answers]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as ready:
        yield ready


@pytest.fixture(scope="module")
def lookup() -> Lookup:
    return Lookup()


@pytest.fixture(scope="module")
def fetcher(runner: asyncio.Runner, lookup: Lookup) -> Iterator[Fetcher]:
    """One for all examples: making the TLS settings is what takes time."""
    ready = Fetcher(FetchSettings(), resolver=lookup)
    yield ready
    runner.run(ready.__aexit__(None, None, None))


@settings(max_examples=5 * settings().max_examples)
@given(url=st.one_of(_PLAIN_URL, _ODD_URL), answers=st.lists(_ADDRESS, min_size=1, max_size=3))
@example(url="http://public.example/", answers=[PUBLIC])
@example(url="http://[64:ff9b::7f00:1]/", answers=[PUBLIC])
@example(url="http://xn--.x/", answers=[PUBLIC])
@example(url="http://xn--a/", answers=[PUBLIC])
@example(url="http://public.example/\ud800", answers=[PUBLIC])
def test_no_url_or_dns_answer_reaches_a_private_address(
    url: str, answers: list[str], runner: asyncio.Runner, lookup: Lookup, fetcher: Fetcher
) -> None:
    """The oracle below is written out from the RFCs, apart from the table that is used."""
    lookup.answers = answers
    with recorded_connections() as opened, pytest.raises(FetchError):
        runner.run(fetcher.get(url, limits=LIMITS))
    for address, _ in opened:
        assert _is_public(ipaddress.ip_address(address)), address


@given(written=st.one_of(_PLAIN_URL, _ODD_URL, st.text(st.characters())))
@example(written="http://[::1")
@example(written="http://xn--.x/")
@example(written="http://a:99999999999/")
@example(written="http://\ud800/")
def test_any_input_is_a_valid_url_or_refused(written: str) -> None:
    shown_host(written).encode("ascii")
    link_key(written)
    with suppress(FetchRefused):
        assert address_of(written).startswith(("http://", "https://"))


async def test_a_failing_resolver_raises_a_fetch_error() -> None:
    """getaddrinfo raises UnicodeError for long labels, and OSError for want of files."""

    def failing(error: Exception) -> Resolver:
        def resolve(*_: object) -> list[Any]:
            raise error

        return resolve

    for error, expected in (
        (UnicodeError("label too long"), FetchRefused),
        (OSError(24, "x"), FetchFailed),
    ):
        async with Fetcher(FetchSettings(), resolver=failing(error)) as fetcher:
            with pytest.raises(expected):
                await fetcher.get("http://public.example/", limits=LIMITS)


# Inside 2001::/23, which is reserved, and globally reachable all the same (IANA).
_REACHABLE = (
    "2001:1::1/128",
    "2001:1::2/127",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:20::/28",
    "2001:30::/28",
)


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    number = int(address)
    low = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address in ipaddress.ip_network("64:ff9b::/96") or number >> 32 in (0, 0xFFFF):
        return _is_public(low)
    if address.sixtofour:
        return _is_public(address.sixtofour)
    if address.teredo:
        return all(_is_public(inner) for inner in address.teredo)
    if any(address in ipaddress.ip_network(network) for network in _REACHABLE):
        return True
    return address in ipaddress.ip_network("2000::/3") and address.is_global

"""Which connection goes when there are too many."""

import asyncio
import resource
from typing import Any
from unittest.mock import create_autospec

import h11
import pytest

from bot.listening import BoundedConnection, Connections, limit_of_port, network_of


def opened(connections: Connections, number: int, address: str | None = None) -> list[Any]:
    made = [create_autospec(asyncio.Transport, instance=True) for _ in range(number)]
    for each in made:
        connections.enter(each, address)
    return made


def cut(those: list[Any]) -> list[int]:
    """Positions of those that were closed."""
    return [place for place, one in enumerate(those) if one.abort.called]


def test_longest_idle_connection_is_closed_for_a_new_one() -> None:
    connections = Connections(32)
    held = opened(connections, 32)
    connections.busy(held[0])
    connections.busy(held[1])
    connections.idle(held[1])  # now the last of the idle
    newcomers = opened(connections, 3)
    assert (cut(held), cut(newcomers), len(connections)) == ([2, 3, 4], [], 32)


def test_busy_connections_are_not_closed() -> None:
    connections = Connections(32)
    held = opened(connections, 32)
    for each in held:
        connections.busy(each)
    newcomers = opened(connections, 2)
    assert (cut(held), cut(newcomers), len(connections)) == ([], [0, 1], 32)


def test_address_over_a_quarter_closes_only_its_own_connections() -> None:
    connections = Connections(64)
    others, held = opened(connections, 3, "b"), opened(connections, 20, "a")
    assert (cut(others), cut(held), len(connections)) == ([], [0, 1, 2, 3], 19)


def test_proxy_has_no_limit_per_address() -> None:
    connections = Connections(64)
    assert cut(opened(connections, 64, None)) == []


def test_leaving_connection_is_counted_once() -> None:
    connections = Connections(64)
    held = opened(connections, 16, "a")
    for _ in range(2):
        connections.leave(held[0])
    connections.idle(held[0])
    newcomers = opened(connections, 2, "a")
    assert (cut(held), cut(newcomers), len(connections)) == ([1], [], 16)


@pytest.mark.parametrize(
    ("files", "maximum"), [(8, 8), (256, 128), (1024, 512), (65536, 2000), (-1, 2000)]
)
def test_connection_limit_leaves_half_of_the_open_files(
    monkeypatch: pytest.MonkeyPatch, files: int, maximum: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert limit_of_port() == maximum


def test_neighbours_in_an_ipv6_network_are_one() -> None:
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9%eth0")
    assert network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1")
    assert network_of("testclient") == "testclient"


def test_a_body_in_too_many_pieces_is_refused_and_the_next_is_counted_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.listening._MOST_PIECES", 2)
    connection = BoundedConnection()

    def read(length: int) -> None:
        head = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
        for part in (head.encode(), *[b"x"] * length):
            connection.receive_data(part)
            connection.next_event()

    read(2)
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    for event in (h11.Response(status_code=200, headers=[]), h11.EndOfMessage()):
        connection.send(event)
    connection.start_next_cycle()
    with pytest.raises(h11.RemoteProtocolError):
        read(3)

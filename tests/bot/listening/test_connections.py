"""Which connection goes when there are too many."""

import asyncio
import resource
from typing import Any
from unittest.mock import create_autospec

import pytest

from bot.listening import Connections, most_of_port, network_of


def opened(connections: Connections, number: int, address: str | None = None) -> list[Any]:
    made = [create_autospec(asyncio.Transport, instance=True) for _ in range(number)]
    for each in made:
        connections.enter(each, address)
    return made


def cut(those: list[Any]) -> list[int]:
    """Positions of those that were closed."""
    return [place for place, one in enumerate(those) if one.abort.called]


def test_who_has_been_idle_for_longest_makes_room() -> None:
    connections = Connections(32)
    held = opened(connections, 32)
    connections.busy(held[0])
    connections.busy(held[1])
    connections.idle(held[1])  # now the last of the idle
    newcomers = opened(connections, 3)
    assert (cut(held), cut(newcomers), len(connections)) == ([2, 3, 4], [], 32)


def test_nobody_who_is_answered_makes_room() -> None:
    connections = Connections(32)
    held = opened(connections, 32)
    for each in held:
        connections.busy(each)
    newcomers = opened(connections, 2)
    assert (cut(held), cut(newcomers), len(connections)) == ([], [0, 1], 32)


def test_an_address_has_a_quarter_and_makes_room_for_itself_alone() -> None:
    connections = Connections(64)
    others, held = opened(connections, 3, "b"), opened(connections, 20, "a")
    assert (cut(others), cut(held), len(connections)) == ([], [0, 1, 2, 3], 19)


def test_a_proxy_has_no_such_limit() -> None:
    connections = Connections(64)
    assert cut(opened(connections, 64, None)) == []


def test_who_leaves_makes_room_once() -> None:
    connections = Connections(64)
    held = opened(connections, 16, "a")
    for _ in range(2):
        connections.leave(held[0])
    connections.idle(held[0])
    newcomers = opened(connections, 2, "a")
    assert (cut(held), cut(newcomers), len(connections)) == ([1], [], 16)


@pytest.mark.parametrize(
    ("files", "most"), [(8, 8), (256, 128), (1024, 512), (65536, 2000), (-1, 2000)]
)
def test_the_port_leaves_files_for_all_else(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert most_of_port() == most


def test_neighbours_in_an_ipv6_network_are_one() -> None:
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9%eth0")
    assert network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1")
    assert network_of("testclient") == "testclient"

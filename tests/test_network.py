"""The guard that keeps tests on this machine."""

import socket

import pytest

from tests.network import NetworkAccess, is_local, only_loopback


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80)])
def test_a_connection_to_elsewhere_is_refused_and_noted(address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with only_loopback() as refused, socket.socket(family) as client:
        with pytest.raises(NetworkAccess):
            client.connect(address)
        with pytest.raises(NetworkAccess):
            client.connect_ex(address)
    assert len(refused) == 2


def test_a_datagram_to_elsewhere_is_refused() -> None:
    datagrams = socket.socket(type=socket.SOCK_DGRAM)
    with only_loopback(), datagrams as client, pytest.raises(NetworkAccess):
        client.sendto(b"?", ("192.0.2.1", 53))


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        (None, True),
        (b"localhost", True),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("localhost.example", False),
        ("0.0.0.0", False),
    ],
)
def test_what_counts_as_local(host: object, local: bool) -> None:
    assert is_local(host) is local

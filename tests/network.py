"""Keeps tests off the network: only loopback addresses and Unix sockets may be reached."""

import errno
import ipaddress
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


class NetworkAccess(Exception):
    """A test tried to leave this machine. Not an OSError: nothing may mistake it for an outage."""


# Below what Linux and other systems give to connections, and above the usual services.
_PORTS = range(20_000, 32_000)


def find_free_port() -> int:
    """Return a port for a server that is started later.

    A port that the system chose would be free now, and a moment later that of a connection.
    """
    while True:
        port = random.SystemRandom().choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port


def is_local(host: object) -> bool:
    """Tell whether a host, as given to connect or getaddrinfo, stays on this machine."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


@contextmanager
def only_loopback() -> Iterator[list[str]]:
    """Refuse everything else in this process; the list fills with what was refused."""
    refused: list[str] = []

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and not is_local(address[0]):
                refused.append(str(address))
                raise NetworkAccess(f"A test may not connect to {address}.")
            return original(self, *arguments)

        return call

    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        literal = str(host.decode() if isinstance(host, bytes) else host).partition("%")[0]
        if not is_local(host) and not _is_address(literal):
            refused.append(str(host))
            raise NetworkAccess(f"A test may not look up {host}.")
        return resolve(host, *arguments, **options)

    with (
        patch.object(socket.socket, "connect", guarded(socket.socket.connect)),
        patch.object(socket.socket, "connect_ex", guarded(socket.socket.connect_ex)),
        patch.object(socket.socket, "sendto", guarded(socket.socket.sendto)),
        patch.object(socket, "getaddrinfo", getaddrinfo),
    ):
        yield refused


def _is_address(text: str) -> bool:
    """Reading an address that is written out asks nobody."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True

"""How many connections the port may hold, and which one goes when there are too many."""

import asyncio
import logging
import sys
from collections import Counter, OrderedDict
from ipaddress import IPv6Address, ip_address

logger = logging.getLogger("presagio.connections")

# The other half is for the database, the platforms, the model and the feeds.
_SHARE = 2
_MOST = 2000  # where files are plenty; each takes some memory
_FEWEST = 8  # what a browser opens at once, and a little
# Taken at once by the event loop: until it has looked at them they are beyond every limit.
ACCEPTED_AT_ONCE = 16
WAITING = 256  # connections that the system keeps until they are taken
_NETWORK_BITS = 64  # of an IPv6 address: what lies below is one customer's


def most_of_port() -> int:
    """Return how many connections the port may hold, by the files that the process may open."""
    if sys.platform == "win32":
        return _MOST
    import resource  # noqa: PLC0415 - there is none on Windows

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if files == resource.RLIM_INFINITY else max(min(_MOST, files // _SHARE), _FEWEST)


def network_of(address: str) -> str:
    """Return what counts as one asker: an IPv4 address, a /64 of IPv6, else the text itself."""
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return str(read)
    if read.ipv4_mapped:
        return str(read.ipv4_mapped)
    host_bits = read.max_prefixlen - _NETWORK_BITS
    return str(IPv6Address(int(read) >> host_bits << host_bits))


class Connections:
    """The open connections of the port.

    A connection is idle while the process waits for its next request to be complete, and busy
    while it is answered. For a newcomer that is one too many the one goes that has been idle for
    longest; where all are busy, the newcomer.
    """

    def __init__(self, most: int) -> None:
        """An address may hold a quarter of `most`."""
        self._most = most
        self._most_of_address = max(most // 4, _FEWEST)
        self._of_address: Counter[str] = Counter()
        self._addresses: dict[asyncio.Transport, str | None] = {}
        self._idle: OrderedDict[asyncio.Transport, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._addresses)

    def enter(self, connection: asyncio.Transport, address: str | None) -> None:
        """Count a connection that opens, idle; None is an address that may hold any number."""
        if address is not None and self._of_address[address] >= self._most_of_address:
            crowded = self._cut(connection, address)
        elif len(self) >= self._most:
            crowded = self._cut(connection, None)
        else:
            crowded = False
        if not crowded:
            self._addresses[connection] = address
            self._idle[connection] = None
            if address is not None:
                self._of_address[address] += 1

    def busy(self, connection: asyncio.Transport) -> None:
        """Note that a request is complete and is being answered."""
        self._idle.pop(connection, None)

    def idle(self, connection: asyncio.Transport) -> None:
        """Note that a request is answered."""
        if connection in self._addresses:
            self._idle[connection] = None

    def leave(self, connection: asyncio.Transport) -> None:
        """Forget a connection. Forgetting one twice does no harm."""
        address = self._addresses.pop(connection, None)
        self._idle.pop(connection, None)
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]

    def _cut(self, newcomer: asyncio.Transport, address: str | None) -> bool:
        """Make room, of an address where there is one; tell whether the newcomer had to go."""
        logger.warning("too many connections: those that ask nothing are closed")
        those = (one for one in self._idle if address in (None, self._addresses[one]))
        longest = next(those, newcomer)
        self.leave(longest)
        longest.abort()
        return longest is newcomer

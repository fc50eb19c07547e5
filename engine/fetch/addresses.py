"""Decides which internet addresses may be fetched from."""

from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_network
from typing import Any

from ssrfguard import DEFAULT_DENIED, AddressTable, Block, Policy, Reach

from engine.errors import SettingsError
from engine.messages import Message

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


def address_policy(allow_networks: Sequence[str] = ()) -> Policy:
    """Return the rules for one fetcher: the public internet, and `allow_networks` (CIDR).

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

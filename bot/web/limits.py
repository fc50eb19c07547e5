"""Who counts as one asker."""

from ipaddress import IPv6Address, ip_address

_NETWORK_BITS = 64  # of an IPv6 address: what lies below is one customer's


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

"""How often one address may ask: bounded in memory, decided without a clock of its own."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address

from bot.settings.section import UNLIMITED

_WINDOW = 60.0  # seconds
_NETWORK_BITS = 64  # of an IPv6 address: what lies below is one customer's
_MOST = 10_000


class RateLimit:
    """The generic cell rate algorithm: a minute's worth at once, then one by one.

    Of each address one number is kept: when its last request would have been due at an even
    pace. Beyond `most` addresses the one that was not seen for longest is forgotten.
    """

    def __init__(self, per_minute: int, *, most: int = _MOST) -> None:
        self._pace = 0.0 if per_minute == UNLIMITED else _WINDOW / per_minute
        self._most = most
        self._due: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due)

    def wait(self, address: str, now: float) -> float:
        """Count a request and return 0, or the seconds after which one would be let through.

        `now` are seconds of a clock that never goes back.
        """
        who = network_of(address)
        due = max(self._due.pop(who, now), now) + self._pace
        late = due - now - _WINDOW
        refused = late > 1e-6
        self._due[who] = due - self._pace if refused else due
        if len(self._due) > self._most:
            self._due.popitem(last=False)
        return late if refused else 0.0


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

"""Who may use the page and the API: keys in constant time."""

import hashlib
import hmac
from collections.abc import Iterable
from enum import IntEnum

from pydantic import SecretStr


class Right(IntEnum):
    """What a key opens; a higher one opens what a lower one does."""

    NONE = 0
    ASK = 1
    STEER = 2


class Keys:
    """The keys that are accepted. Only their hashes are kept."""

    def __init__(self, ask: SecretStr | None = None, steer: SecretStr | None = None) -> None:
        self._known = [
            *((_digest(key), Right.ASK) for key in _listed(ask)),
            *((_digest(key), Right.STEER) for key in _listed(steer)),
        ]

    def asks_for_keys(self) -> bool:
        """Tell whether the API needs a key at all."""
        return any(right is Right.ASK for _, right in self._known)

    def right_of(self, key: str | None) -> Right:
        """Return what a key opens; without one, what stands open to everybody."""
        if key is None:
            return Right.NONE if self.asks_for_keys() else Right.ASK
        given, found = _digest(key), Right.NONE
        for known, right in self._known:  # all of them, whichever fits
            if hmac.compare_digest(known, given):
                found = max(found, right)
        return found


def _listed(keys: SecretStr | None) -> Iterable[str]:
    written = keys.get_secret_value() if keys else ""
    return filter(None, (key.strip() for key in written.split(",")))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()

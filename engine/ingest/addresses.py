"""Parts of addresses as exports give them; what is no address has none."""

from pathlib import PurePosixPath
from urllib.parse import SplitResult, urlsplit


def host_of(address: object) -> str | None:
    """Return "example.social" for "https://example.social/users/ana"."""
    parts = _split(address)
    return parts.hostname if parts else None


def last_part(address: object) -> str:
    """Return "ana" for "https://example.social/users/ana", also without a host; or ""."""
    parts = _split(address)
    return PurePosixPath(parts.path).name if parts else ""


def _split(address: object) -> SplitResult | None:
    try:
        return urlsplit(address) if isinstance(address, str) else None
    except ValueError:  # "http://["
        return None

"""Addresses as those may read them who did not write them."""

import re
from urllib.parse import urlsplit, urlunsplit

_VALUE = re.compile(r"(?<==)[^&]+|(?<![^&])[^=&]+(?![^&])")
_HIDDEN = "…"


def public_address(url: str) -> str:
    """Return an address without what may let somebody in: names, passwords, values of its query.

    "https://me:pw@example.org/feed?token=s3cret" becomes "https://example.org/feed?token=…". What
    carries nothing of the kind is returned as it is.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return _HIDDEN
    query = _VALUE.sub(_HIDDEN, parts.query)
    host = parts.netloc.rpartition("@")[2]
    if host == parts.netloc and not parts.query and not parts.fragment:
        return url
    return urlunsplit((parts.scheme, host, parts.path, query, ""))

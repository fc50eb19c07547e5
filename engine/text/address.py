"""Web addresses of documents, addresses without secrets, and one address for each page."""

import re
from dataclasses import replace
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from engine.types import Candidate, Corpus


def addressed(found: Candidate, corpus: Corpus) -> Candidate:
    """Return the document with an address from the corpus' template if it has none of its own."""
    if found.url or not corpus.url_template:
        return found
    # "i" stands for an unknown account; X redirects it.
    author = quote(found.author or corpus.author or "i", safe="")
    url = corpus.url_template.replace("{author}", author).replace(
        "{id}", quote(found.external_id, safe="")
    )
    return replace(found, url=url)


_VALUE = re.compile(r"(?<==)[^&]+|(?<![^&])[^=&]+(?![^&])")
_HIDDEN = "…"


def public_address(url: str) -> str:
    """Return an address without possible secrets: user names, passwords, query values.

    "https://me:pw@example.org/feed?token=s3cret" becomes "https://example.org/feed?token=…". An
    address without any of these is returned unchanged.
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


_LONGEST_ADDRESS = 2000  # characters, as ASCII
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Parameters that tell a site where a visitor comes from, and change nothing on the page.
_TRACKING = re.compile(
    r"(?:utm_\w+|[gdy]clid|g[ab]raid|wbraid|fbclid|msclkid|twclid|ttclid|igshid|mc_[ce]id|_hs\w+"
    r"|ref_(?:src|url)|cmpid|ns_\w+|at_(?:medium|campaign)\w*)(?:=.*)?",
    re.IGNORECASE | re.DOTALL,
)
_HOST_NAME = re.compile(r"[\w.-]+|\[[\da-f:.]+\]", re.ASCII)
_KEPT = "%/:@!$&'()*+,;=~"


def canonical_address(url: str) -> str | None:
    """Return the address that stands for all spellings of a page's address, and leads there too.

    Without fragment, default port and parameters for tracking; the host in ASCII and lower case.
    Returns None if it is not a web address, holds a user name, or is longer than 2,000 characters.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = _host(parts), parts.port
    except ValueError:  # includes UnicodeError
        return None
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS or "@" in parts.netloc or not url.isprintable():
        return None
    if not _HOST_NAME.fullmatch(host):
        return None
    place = host if port in (None, _DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    query = "&".join(one for one in parts.query.split("&") if one and not _TRACKING.fullmatch(one))
    path = quote(parts.path or "/", safe=_KEPT)
    address = urlunsplit((scheme, place, path, quote(query, safe=_KEPT + "?"), ""))
    return address if len(address) <= _LONGEST_ADDRESS else None


def page_key(address: str) -> str:
    """Return what the canonical addresses of one page have in common.

    http and https, with and without "www." or a slash at the end, are the same page.
    """
    return address.partition("://")[2].removeprefix("www.").rstrip("/")


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:
        return f"[{host}]"
    return host.lower() if host.isascii() else host.encode("idna").decode()

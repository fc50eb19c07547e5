"""Web addresses of documents, and addresses without secrets."""

import re
from dataclasses import replace
from urllib.parse import quote, urlsplit, urlunsplit

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

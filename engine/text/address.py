"""Web addresses of documents, and addresses as strangers may read them."""

import re
from dataclasses import replace
from urllib.parse import quote, urlsplit, urlunsplit

from engine.types import Candidate, Corpus


def addressed(found: Candidate, corpus: Corpus) -> Candidate:
    """Give a document the address that the corpus' template makes, where it has none of its own."""
    if found.url or not corpus.url_template:
        return found
    # "i" stands for an account that nobody named; X redirects it.
    author = quote(found.author or corpus.author or "i", safe="")
    url = corpus.url_template.replace("{author}", author).replace(
        "{id}", quote(found.external_id, safe="")
    )
    return replace(found, url=url)


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

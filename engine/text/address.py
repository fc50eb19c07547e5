"""Web addresses of documents, and addresses without secrets."""

import re
from dataclasses import replace
from urllib.parse import quote, urlsplit, urlunsplit

from engine.types import Candidate, Corpus


def addressed(found: Candidate, corpus: Corpus) -> Candidate:
    """Return the document with the author, the voice and the address that its corpus knows.

    It keeps an author and an address of its own. The voice is that of the corpus's author alone.
    """
    author = found.author or corpus.author
    own = _account(author) == _account(corpus.author) or corpus.author is None
    voice = corpus.display_name if own else None
    if (author, voice) != (found.author, found.voice):
        found = replace(found, author=author, voice=voice)
    if found.url or not corpus.url_template:
        return found
    # "i" stands for an unknown account; X redirects it.
    url = corpus.url_template.replace("{author}", quote(author or "i", safe="")).replace(
        "{id}", quote(found.external_id, safe="")
    )
    return replace(found, url=url)


def _account(name: str | None) -> str:
    return (name or "").removeprefix("@").casefold()


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

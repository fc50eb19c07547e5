"""The web address of a document."""

from dataclasses import replace
from urllib.parse import quote

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

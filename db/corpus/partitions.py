"""The table of one corpus' documents, and statements that name it.

A statement on the table of all corpora locks each of them, with its indexes, before it runs: it
is planned once a connection, for whatever corpus. So every statement about one corpus names it in
its text (docs/decisions/0004-retrieval.md).
"""

from functools import lru_cache

from db.statements import statements


def partition(corpus_id: int) -> str:
    """Name the table that holds one corpus' documents; never made of anything but a number."""
    return f"document_{int(corpus_id)}"


@lru_cache(maxsize=1024)
def about_corpus(file: str, name: str, corpus_id: int) -> str:
    """Return a statement of `db/sql/<file>.sql` about one corpus.

    {document} in it is the table of its documents, {corpus} its id.
    """
    names = {"document": partition(corpus_id), "corpus": str(int(corpus_id))}
    return statements(file)[name].format(**names)

"""Names the tables of one corpus in statements: its documents, and their postings if it has them.

A statement on the parent table locks all partitions and their indexes before it runs, because its
plan is cached per connection and serves any corpus. So every statement about one corpus names its
partition in the text (docs/decisions/0004-retrieval.md).
"""

from functools import lru_cache

from db.statements import statements


def partition(corpus_id: int) -> str:
    """Return the table of one corpus' documents; its name contains nothing but a number."""
    return f"document_{int(corpus_id)}"


def postings_table(corpus_id: int) -> str:
    """Return the table of one corpus' postings, which only some corpora have."""
    return f"postings_{int(corpus_id)}"


@lru_cache(maxsize=1024)
def about_corpus(file: str, name: str, corpus_id: int) -> str:
    """Return a statement of `db/sql/<file>.sql` about one corpus.

    {document} and {postings} in it stand for the corpus' tables, {corpus} for its id.
    """
    names = {
        "document": partition(corpus_id),
        "postings": postings_table(corpus_id),
        "corpus": str(int(corpus_id)),
    }
    return statements(file)[name].format(**names)

"""What searches in the database are tried with: modules that use `strategy` run for each way."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from db.corpus import corpora
from db.lease import LeaseTimes
from db.pool import Database
from db.search.embeddings import Embeddings
from tests.db.vectors import require_vectors


@pytest.fixture
async def embeddings(database: Database) -> Embeddings:
    await require_vectors(database)
    return Embeddings(database, times=LeaseTimes(renewal=0.05))


@pytest.fixture(scope="module", params=["classes", "postings"])
def strategy(request: pytest.FixtureRequest) -> Iterator[str]:
    """How the corpora of a module are searched; what is found has to be the same."""
    chosen = str(request.param)
    with patch.object(corpora, "has_postings", lambda *_, **__: chosen == "postings"):
        yield chosen

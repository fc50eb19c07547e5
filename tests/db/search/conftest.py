"""Both ways of searching by words: modules that use `strategy` run once for each."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from db.corpus import corpora


@pytest.fixture(scope="module", params=["classes", "postings"])
def strategy(request: pytest.FixtureRequest) -> Iterator[str]:
    """How the corpora of a module are searched; what is found has to be the same."""
    chosen = str(request.param)
    with patch.object(corpora, "has_postings", lambda *_, **__: chosen == "postings"):
        yield chosen

"""What the tests of the tables share."""

from collections.abc import AsyncIterator

import pytest

from db.pool import Database


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open pool on a fresh database with all tables."""
    opened = await Database.open(database_url)
    yield opened
    await opened.close()

"""Several processes on one database."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from db.pool import Database, PoolSettings
from tests.database import pool_on


@pytest.fixture
async def processes(database_url: str) -> AsyncIterator[list[Database]]:
    """The pools of four processes."""
    async with AsyncExitStack() as stack:
        few = PoolSettings(size=2)
        yield [await stack.enter_async_context(pool_on(database_url, few)) for _ in range(4)]

"""A bot to talk to."""

from collections.abc import AsyncIterator

import pytest

from db.pool import Database
from tests.bot.conversing import Bot, bot_on, corpus


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    corpora = [corpus("demo"), corpus("larga", 56573)]
    async with bot_on(storage, corpora=corpora) as ready:
        yield ready

"""A bot to talk to, and real headlines."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from db.pool import Database
from tests.bot.conversing import Bot, bot_on, corpus


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    corpora = [corpus("demo"), corpus("larga", 56573)]
    async with bot_on(storage, corpora=corpora) as ready:
        yield ready


@pytest.fixture(params=["en", "es"])
def titles(request: pytest.FixtureRequest, shared_data: Path) -> list[str]:
    with (shared_data / "headlines" / f"{request.param}.jsonl").open() as rows:
        return [json.loads(row)["title"] for row in rows]

"""Typed searches on real exports: nothing is rewritten, mixed in or invented."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.app import App, open_app
from bot.queries.find import personal_search, social_search
from bot.settings import load_settings
from engine.contracts.requests import PersonalSearch, SocialSearch
from tests.bot.conftest import Invoke

MASTODON = "exports/mastodon_philhawksworth"
TELEGRAM = "exports/telegram_fragment"


@pytest.fixture
async def app(database: str) -> AsyncIterator[App]:
    async with open_app(load_settings(), progress=print) as opened:
        yield opened


def ingest(invoke: Invoke, folder: Path, corpus: str) -> None:
    files = sorted(str(path) for path in folder.iterdir() if path.suffix == ".json")
    done = invoke("ingest", *files, "--corpus", corpus)
    assert done.code == 0, done


@pytest.fixture
def exports(invoke: Invoke, database: str, shared_data: Path) -> None:
    ingest(invoke, shared_data / MASTODON, "toots")
    ingest(invoke, shared_data / TELEGRAM, "chat")


async def texts_of(app: App, corpus: str) -> dict[str, str]:
    async with app.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT external_id, text FROM document d JOIN corpus c ON c.id = d.corpus_id"
            " WHERE c.name = $1",
            corpus,
        )
    return {row["external_id"]: row["text"] for row in rows}


async def test_posts_are_quoted_whole_and_of_the_platform_asked_for(
    exports: None, app: App
) -> None:
    texts = await texts_of(app, "toots")
    found = await social_search(app, SocialSearch(query="web", platform="mastodon"))
    assert 0 < len(found.items) <= 30
    assert all(hit.snippet == texts[hit.post_id] for hit in found.items)
    assert {hit.platform for hit in found.items} == {"mastodon"}
    assert all(term in hit.snippet for hit in found.items for term in hit.voice_terms)
    # Its messages to named people lie apart.
    messages = await personal_search(app, PersonalSearch(corpus="toots-personal", limit=100))
    assert {hit.message_id for hit in messages.items}.isdisjoint(texts)
    assert len(await texts_of(app, "toots-personal")) + len(texts) == 216
    nothing = await social_search(app, SocialSearch(query="web", platform="x"))
    assert nothing.items == ()


async def test_messages_are_quoted_to_the_letter(exports: None, app: App) -> None:
    texts = await texts_of(app, "chat")
    found = await personal_search(
        app, PersonalSearch(corpus="chat", date_from="2000-01-01", limit=100)
    )
    assert found.items
    for hit in found.items:
        assert hit.snippet in texts[hit.message_id]
        assert len(hit.snippet) <= len(texts[hit.message_id])
        assert hit.thread_id

"""What the feeds bring is a corpus: kept once, searched by its name alone, forgotten in time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.app import open_app
from bot.jobs.poll import News, document_of
from bot.settings import load_settings
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from engine.corpora import NEWS_CORPUS
from engine.errors import CorpusNotFound
from engine.feeds.feed import Feed, NewHeadline
from engine.values import Kind
from tests.db.loading import assert_exact, load_texts

NOW = datetime(2026, 6, 1, tzinfo=UTC)
FEED = Feed(
    id=1,
    url="https://news.example/feed",
    title="The Paper",
    category="Tech",
    configured=True,
    created_at=NOW,
    next_poll_at=NOW,
)


def headline(number: int, *, days_ago: int = 0, summary: str = "") -> NewHeadline:
    title = f"Headline number {number}"
    return NewHeadline(
        identity=str(number),
        title=title,
        text=title,
        published=NOW - timedelta(days=days_ago),
        link=f"https://news.example/{number}",
        summary=summary,
        language="en",
    )


@pytest.fixture
def news(storage: Database) -> News:
    return News(Corpora(storage), Documents(storage))


def test_a_headline_is_a_document_under_its_link() -> None:
    found = document_of(FEED, headline(1, summary="What happened."))
    assert found.text == "Headline number 1\n\nWhat happened."
    assert (found.external_id, found.url) == ("https://news.example/1",) * 2
    assert (found.author, found.tags, found.lang) == ("The Paper", ("tech",), "en")
    unlinked = replace(headline(1), link=None)
    assert (document_of(FEED, unlinked).external_id, document_of(FEED, unlinked).url) == ("1", None)


async def test_repeated_headline_is_stored_once_and_updated(storage: Database, news: News) -> None:
    await news.keep(FEED, [headline(1), headline(2)])
    await news.keep(replace(FEED, category="news"), [headline(1, summary="More."), headline(2)])
    corpus = await Corpora(storage).get(NEWS_CORPUS)
    assert (corpus.documents, corpus.kind) == (2, Kind.PUBLISHED)
    async with storage.connection() as connection:
        texts = await connection.fetch("SELECT text FROM document ORDER BY external_id")
    assert [row["text"] for row in texts] == ["Headline number 1\n\nMore.", "Headline number 2"]


async def test_what_is_old_is_forgotten_and_the_statistics_stay_exact(
    storage: Database, news: News
) -> None:
    other = await load_texts(storage, "other", ["an old text"])
    await news.keep(FEED, [headline(1, days_ago=31), headline(2, days_ago=29)])
    assert await news.forget(before=NOW - timedelta(days=30)) == 1
    corpus = await Corpora(storage).get(NEWS_CORPUS)
    assert corpus.documents == 1
    await assert_exact(storage, corpus)
    assert (await Corpora(storage).get(other.name)).documents == 1


async def test_news_is_never_searched_unless_it_is_named(
    database_url: str, storage: Database, news: News
) -> None:
    settings = load_settings(environ={"DATABASE_URL": database_url})
    await news.keep(FEED, [headline(1)])
    async with open_app(settings, progress=lambda _: None) as app:
        with pytest.raises(CorpusNotFound):
            await app.corpus("")
        await load_texts(storage, "tweets", ["a text"])
        assert (await app.corpus("")).name == "tweets"
        assert (await app.corpus(NEWS_CORPUS)).documents == 1

"""Threads of a corpus."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from db.pool import Database, PoolSettings
from db.search.lexical import LexicalIndex
from db.search.shown import DocumentLookup, Threads
from engine.corpora import Document
from engine.text.clean import make_searchable
from engine.values import Flag
from tests.database import fetch_value, pool_on
from tests.db.loading import START, document, load


def said(number: int, thread: str | None, *, day: float, author: str = "ana") -> Document:
    return replace(
        document(str(number), f"word{number}", day=day, author=author),
        thread=thread,
        title=thread and thread.upper(),
    )


async def test_a_thread_is_read_in_order(database: Database) -> None:
    late = replace(
        said(1, "rain", day=2),
        role="me",
        url="https://a.example/",
        reply_to="2",
        attribution="export#1",
        flags=Flag.REPLY,
    )
    together = [said(3, "rain", day=1), said(2, "rain", day=1)]  # as the source has them
    corpus = await load(
        database, "c", [late, *together, said(4, "sun", day=1), said(5, None, day=1)]
    )
    messages = await Threads(database).read(corpus, "rain", limit=9)
    assert [message.external_id for message in messages] == ["3", "2", "1"]
    last = messages[-1]
    assert (last.created_at, last.author, last.role) == (late.created_at, "ana", "me")
    assert (last.text, last.url, last.reply_to) == ("word1", "https://a.example/", "2")
    assert (last.attribution, last.flags) == ("export#1", Flag.REPLY)
    assert await Threads(database).read(corpus, "rain", limit=2) == messages[:2]


async def test_a_thread_of_another_corpus_is_not_read(database: Database) -> None:
    await load(database, "other", [said(1, "rain", day=1)])
    corpus = await load(database, "c", [said(1, "sun", day=1)])
    assert await Threads(database).read(corpus, "rain", limit=9) == []


async def test_threads_are_listed_from_the_latest(database: Database) -> None:
    corpus = await load(
        database,
        "c",
        [
            said(1, "rain", day=1),
            said(2, "rain", day=9, author="bob"),
            said(3, "sun", day=5),
            said(4, None, day=10),
        ],
    )
    rain, sun = await Threads(database).list(corpus, limit=9)
    assert (rain.id, rain.title, rain.documents, rain.authors) == ("rain", "RAIN", 2, 2)
    assert rain.oldest and rain.newest
    assert ((rain.oldest - START).days, (rain.newest - START).days) == (1, 9)
    assert (sun.id, sun.documents, sun.authors) == ("sun", 1, 1)
    assert await Threads(database).list(corpus, limit=1) == [rain]


async def test_undated_threads_come_last(database: Database) -> None:
    texts = [said(1, "rain", day=2), said(2, "rain", day=1), said(3, "sun", day=1)]
    texts[0] = replace(texts[0], created_at=None)
    texts[2] = replace(texts[2], created_at=None)
    corpus = await load(database, "c", texts)
    threads = Threads(database)
    rain, sun = await threads.list(corpus, limit=9)
    assert (rain.id, rain.newest, sun.id, sun.newest) == ("rain", texts[1].created_at, "sun", None)
    read = await threads.read(corpus, "rain", limit=9)
    assert [one.created_at for one in read] == [texts[1].created_at, None]


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Otra Manifestación, otra.", "manifestaciones", "Otra [Manifestación], otra."),
        ("U.S. and US, not us", "U.S.", "[U.S.] and [US], not us"),
        ("thanks @Rosie! #RosieLives", "rosie", "thanks [@Rosie]! [#RosieLives]"),
        ("\x02fire\x03 in Perú https://x.org/peru", "peru", "fire in [Perú] https://x.org/peru"),
        ("nothing here", "fire", "nothing here"),
    ],
)
async def test_marks_surround_the_matched_words_of_the_query(
    database: Database, text: str, query: str, marked: str
) -> None:
    stored = document("1", make_searchable(text), shown=text)
    corpus = await load(database, "c", [stored], "spanish")
    terms = await LexicalIndex(database).terms(corpus, make_searchable(query))
    lexemes = [lexeme for term in terms for lexeme in term.lexemes]
    number = await fetch_value(database, "SELECT id FROM document")
    found = await DocumentLookup(database).mark_words(corpus, [number], lexemes)
    assert found[number].replace("\x02", "[").replace("\x03", "]") == marked


async def test_a_list_is_planned_for_its_span_of_time(database_url: str) -> None:
    """The plan for any span expects too few rows: all texts of a real archive took 30 s."""
    async with pool_on(database_url, PoolSettings(size=1)) as database:
        corpus = await load(database, "c", [document("1", "coffee")])
        begins, ends = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
        assert len(await DocumentLookup(database).list_texts(corpus, begins, ends, limit=2)) == 1
        async with database.connection() as connection:
            plans = await connection.fetch(
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements"
                " WHERE statement LIKE '%min(created_at) OVER w' || ', thread%'"
            )
            after = await connection.fetchval("SHOW plan_cache_mode")
    assert [tuple(plan) for plan in plans] == [(0, 1)]
    assert after in {"force_generic_plan", "force_custom_plan"}  # the latter with Citus

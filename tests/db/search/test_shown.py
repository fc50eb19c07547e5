"""Texts with marks around the words by which they were found, and the lists of an archive."""

from datetime import UTC, datetime

import pytest

from db.pool import Database, PoolSettings
from db.search.lexical import LexicalIndex
from db.search.shown import DocumentLookup
from engine.text.clean import make_searchable
from tests.db.loading import document, load


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
    async with database.connection() as connection:
        number = await connection.fetchval("SELECT id FROM document")
    found = await DocumentLookup(database).mark_words(corpus, [number], lexemes)
    assert found[number].replace("\x02", "[").replace("\x03", "]") == marked


async def test_a_list_is_planned_for_its_span_of_time(database_url: str) -> None:
    """The plan for any span expects too few rows: all texts of a real archive took 30 s."""
    database = await Database.open(database_url, PoolSettings(size=1))
    corpus = await load(database, "c", [document("1", "coffee")])
    begins, ends = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
    assert len(await DocumentLookup(database).list_texts(corpus, begins, ends, limit=2)) == 1
    async with database.connection() as connection:
        plans = await connection.fetch(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements"
            " WHERE statement LIKE '%min(created_at) OVER w' || ', thread%'"
        )
        after = await connection.fetchval("SHOW plan_cache_mode")
    await database.close()
    assert [tuple(plan) for plan in plans] == [(0, 1)]
    assert after in {"force_generic_plan", "force_custom_plan"}  # the latter with Citus

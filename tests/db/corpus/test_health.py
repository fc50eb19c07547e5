"""The recount finds every figure that a search would take wrong."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from db.corpus.health import (
    EXTENSIONS,
    missing_extensions,
    reads_quotes,
    server_version,
    statistics_differ,
)
from db.pool import Database, PoolSettings
from db.search.shown import DocumentLookup
from tests.database import execute, fetch_value, pool_on, run_sql, until_blocked, with_database
from tests.db.loading import START, document, load, load_texts
from tests.patience import PATIENCE, movable_time

TEXTS = ("a ship and a canal", "the canal is shut", "ship ship ship")


async def test_statistics_stay_exact_after_changes_seen_by_triggers(database: Database) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    await load_texts(database, "other", TEXTS[:1])
    assert await statistics_differ(database, corpus) is None
    await load(database, "c", [document("1", "the canal is open", lang="en")])
    assert await statistics_differ(database, corpus) is None
    await run_sql(database, f"DELETE FROM document WHERE corpus_id = {corpus.id}")
    assert await statistics_differ(database, corpus) is None


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE corpus SET documents = 4", "3 documents and 12 tokens, kept as 4 and 12"),
        ("UPDATE corpus SET empty = 1", "0 documents without words, kept as 1"),
        (
            "UPDATE lexeme SET document_frequency = 9 WHERE lexeme = 'canal'",
            "1 lexemes with wrong figures",
        ),
        ("DELETE FROM lexeme WHERE lexeme IN ('a', 'is')", "2 lexemes with wrong figures"),
        (
            "INSERT INTO lexeme SELECT id, 'ghost', 1, 1 FROM corpus",
            "1 lexemes with wrong figures",
        ),
        ("UPDATE lexeme SET max_tf = 2 WHERE lexeme = 'ship'", "1 lexemes with wrong figures"),
        ("UPDATE corpus_language SET documents = 2", "1 languages with a wrong count"),
        (
            "UPDATE corpus SET documents = 0; DELETE FROM lexeme WHERE lexeme = 'a'",
            "3 documents and 12 tokens, kept as 0 and 12; 1 lexemes with wrong figures",
        ),
    ],
)
async def test_any_damage_is_found(database: Database, damage: str, said: str) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    await run_sql(database, damage)
    assert await statistics_differ(database, corpus) == said


@pytest.mark.parametrize(
    "harmless",
    [
        "UPDATE lexeme SET max_tf = 9 WHERE lexeme = 'ship'",  # an upper bound
        "INSERT INTO lexeme SELECT id, 'gone', 0, 1 FROM corpus",  # how deleted words stay
    ],
)
async def test_recount_ignores_differences_that_mislead_no_search(
    database: Database, harmless: str
) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    await run_sql(database, harmless)
    assert await statistics_differ(database, corpus) is None


async def test_recount_ignores_a_corpus_dropped_meanwhile(database: Database) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    await run_sql(database, f"DROP TABLE document_{corpus.id}; DELETE FROM corpus")
    assert await statistics_differ(database, corpus) is None


async def test_a_recount_may_take_longer_than_a_search(database_url: str) -> None:
    hasty = PoolSettings(command_timeout=PATIENCE, statement_timeout=0.5)
    patient = await Database.open(database_url)
    database = await Database.open(database_url, hasty)
    try:
        corpus = await load_texts(patient, "c", TEXTS)
        # A lock stands in for a large corpus.
        async with patient.transaction() as holder:
            await holder.execute("LOCK TABLE lexeme IN ACCESS EXCLUSIVE MODE")
            recount = asyncio.create_task(statistics_differ(database, corpus))
            await until_blocked(database_url)
            with movable_time() as move:
                move(PATIENCE)
                await asyncio.sleep(0.6)
                assert not recount.done()
        assert await recount is None
    finally:
        await database.close()
        await patient.close()


async def test_missing_extensions_are_named(database: Database) -> None:
    assert await missing_extensions(database) == []
    for number, name in enumerate(EXTENSIONS, 1):
        await run_sql(database, f"DROP EXTENSION {name} CASCADE")
        assert await missing_extensions(database) == list(EXTENSIONS[:number])


async def test_a_database_that_takes_quotes_for_letters_is_known(
    database: Database, server_url: str
) -> None:
    assert await reads_quotes(database)
    name = f"presagio_{uuid4().hex}"
    create = f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING UTF8 LOCALE 'C'"
    await execute(server_url, f"{create} LOCALE_PROVIDER libc")
    try:
        async with pool_on(with_database(server_url, name)) as opened:
            assert not await reads_quotes(opened)
    finally:
        await execute(server_url, f'DROP DATABASE "{name}"')


async def test_the_version_is_that_of_the_server(database: Database) -> None:
    major = int(await fetch_value(database, "SHOW server_version_num")) // 10_000
    assert (await server_version(database)).split(".")[0] == str(major)


async def test_texts_are_counted_by_month(database: Database) -> None:
    days = (0, 3, 40, 400)
    corpus = await load(database, "c", [document(str(day), "x", day=day) for day in days])
    await load(database, "other", [document("1", "x")])
    assert await DocumentLookup(database).months(corpus) == {
        "2010-01": 2,
        "2010-02": 1,
        "2011-02": 1,
    }


async def test_neighbours_in_time_are_found_in_one_order_both_ways(database: Database) -> None:
    days = {"a": 0, "b": 1, "c": 1, "d": 5}
    corpus = await load(
        database, "c", [document(name, name, day=day) for name, day in days.items()]
    )
    shown, overview = DocumentLookup(database), DocumentLookup(database)
    counts = {}
    for name in days:
        found = await shown.document(corpus, name)
        assert found and found.candidate.created_at
        before, after = await overview.neighbours(
            corpus, found.candidate.id, found.candidate.created_at
        )
        counts[name] = (before and before.external_id, after and after.external_id)
    assert counts == {"a": (None, "b"), "b": ("a", "c"), "c": ("b", "d"), "d": ("c", None)}
    assert before
    assert (before.text, before.created_at) == ("c", START + timedelta(days=1))


async def test_undated_documents_have_no_month_and_no_neighbours(database: Database) -> None:
    undated = replace(document("u", "storm"), created_at=None)
    corpus = await load(
        database, "c", [document("a", "rain"), undated, document("b", "fog", day=1)]
    )
    overview, found = DocumentLookup(database), await DocumentLookup(database).document(corpus, "a")
    assert sum((await overview.months(corpus)).values()) == 2
    assert found and found.candidate.created_at
    before, after = await overview.neighbours(
        corpus, found.candidate.id, found.candidate.created_at
    )
    assert (before, after and after.external_id) == (None, "b")

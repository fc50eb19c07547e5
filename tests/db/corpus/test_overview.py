"""What a corpus holds, counted for display."""

from dataclasses import replace
from datetime import timedelta

from db.corpus.health import Overview
from db.pool import Database
from db.search.shown import DocumentLookup
from tests.db.loading import START, document, load


async def test_texts_are_counted_by_month(database: Database) -> None:
    days = (0, 3, 40, 400)
    corpus = await load(database, "c", [document(str(day), "x", day=day) for day in days])
    await load(database, "other", [document("1", "x")])
    assert await Overview(database).months(corpus) == {"2010-01": 2, "2010-02": 1, "2011-02": 1}


async def test_neighbours_in_time_are_found_in_one_order_both_ways(database: Database) -> None:
    days = {"a": 0, "b": 1, "c": 1, "d": 5}
    corpus = await load(
        database, "c", [document(name, name, day=day) for name, day in days.items()]
    )
    shown, overview = DocumentLookup(database), Overview(database)
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
    overview, found = Overview(database), await DocumentLookup(database).document(corpus, "a")
    assert sum((await overview.months(corpus)).values()) == 2
    assert found and found.candidate.created_at
    before, after = await overview.neighbours(
        corpus, found.candidate.id, found.candidate.created_at
    )
    assert (before, after and after.external_id) == (None, "b")

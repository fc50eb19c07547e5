"""Items and their parts: replaced as a whole, with their vectors, in one transaction."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from db.search.lexical import LexicalIndex
from db.search.shown import DocumentLookup
from engine.corpora import Document, Part
from engine.search import Filters, ItemPlace
from engine.text.clean import make_searchable
from engine.values import Corpus, DateKind, Kind
from tests.database import fetch_rows
from tests.db.loading import assert_exact, document, new_corpus

NOW = datetime(2020, 1, 31, tzinfo=UTC)


def _item(name: str, *texts: str, digest: int = 1) -> Document:
    parts = tuple(
        Part(
            text=text,
            search_text=make_searchable(f"Title of {name} {text}"),
            heading="Prices",
            page=number,
            last_page=number,
        )
        for number, text in enumerate(texts, start=1)
    )
    return Document(
        external_id=name,
        text="",
        search_text="",
        created_at=NOW,
        digest=digest,
        title=f"Title of {name}",
        attribution=f"{name}.pdf",
        platform="pdf",
        parts=parts,
        pages=len(texts),
    )


async def _library(database: Database) -> Corpus:
    return await new_corpus(database, "lib", "english", Kind.LIBRARY)


async def _ids(database: Database) -> list[str]:
    rows = await fetch_rows(database, "SELECT external_id FROM document ORDER BY 1")
    return [row[0] for row in rows]


async def _items(database: Database) -> list[str]:
    return [row[0] for row in await fetch_rows(database, "SELECT external_id FROM item ORDER BY 1")]


async def test_an_item_counts_once(database: Database) -> None:
    corpus, documents = await _library(database), Documents(database)
    first = [_item("a", "storm", "rain"), _item("b", "fog")]
    assert await documents.upsert(corpus, first) == (2, 0)
    assert await _ids(database) == ["a~part1", "a~part2", "b~part1"]
    assert await documents.upsert(corpus, [_item("a", "storm", "rain")]) == (0, 0)
    assert await documents.upsert(corpus, [_item("a", "storm", digest=2)]) == (0, 1)
    assert await _ids(database) == ["a~part1", "b~part1"]
    known = await Corpora(database).get("lib")
    assert (known.in_parts, known.documents, await Corpora(database).items(known)) == (True, 2, 2)
    await assert_exact(database, corpus)


async def test_only_changed_files_are_outdated(database: Database) -> None:
    corpus, documents = await _library(database), Documents(database)
    await documents.upsert(corpus, [_item("a", "storm"), document("c", "snow")])
    asked = {"a": 1, "b": 1, "c": document("c", "snow").digest}
    assert await documents.find_outdated(corpus, asked) == {"b"}
    assert await documents.find_outdated(corpus, {"a": 2}) == {"a"}


async def test_a_document_may_become_long_and_short_again(database: Database) -> None:
    corpus, documents = await _library(database), Documents(database)
    await documents.upsert(corpus, [document("a", "storm")])
    await documents.upsert(corpus, [_item("a", "storm", "rain", digest=2)])
    assert (await _ids(database), await _items(database)) == (["a~part1", "a~part2"], ["a"])
    short = replace(document("a", "storm"), digest=3)
    assert await documents.upsert(corpus, [short]) == (1, 0)
    assert (await _ids(database), await _items(database)) == (["a"], [])
    await assert_exact(database, corpus)


async def test_vectors_of_removed_and_changed_parts_are_deleted(database: Database) -> None:
    corpus, documents = await _library(database), Documents(database)
    await documents.upsert(corpus, [_item("a", "storm", "rain", "fog")])
    async with database.connection() as connection:
        model = await connection.fetchval(
            "INSERT INTO embedding_model (name, dimensions) VALUES ('m', 2) RETURNING id"
        )
        await connection.execute(
            f"CREATE TABLE embedding_{model} AS SELECT corpus_id, id AS document_id FROM document"
        )
        await connection.execute(
            "INSERT INTO embedding_state (model_id, corpus_id, embedded) VALUES ($1, $2, 3)",
            model,
            corpus.id,
        )
        await documents.upsert(corpus, [_item("a", "storm", "sun", digest=2)])
        rows = await connection.fetch(
            f"SELECT d.external_id FROM embedding_{model} e JOIN document d ON d.id = e.document_id"
        )
        embedded = await connection.fetchval("SELECT embedded FROM embedding_state")
        await connection.execute(f"DROP TABLE embedding_{model}; DELETE FROM embedding_model")
    assert [row[0] for row in rows] == ["a~part1"]
    assert embedded == 1


async def test_a_dropped_corpus_takes_its_items(database: Database) -> None:
    corpus = await _library(database)
    await Documents(database).upsert(corpus, [_item("a", "storm")])
    await Corpora(database).drop("lib")
    assert await _items(database) == []


async def test_forgotten_documents_take_their_items(database: Database) -> None:
    corpus = await _library(database)
    old = replace(_item("b", "fog", "snow"), created_at=NOW - timedelta(days=9))
    await Documents(database).upsert(corpus, [_item("a", "storm"), old])
    assert await Documents(database).forget(corpus, before=NOW) == 2
    assert (await _ids(database), await _items(database)) == (["a~part1"], ["a"])


async def test_hits_name_their_place_in_the_item(database: Database) -> None:
    corpus = await _library(database)
    await Documents(database).upsert(
        corpus, [_item("a", "storm", "rain"), document("c", "a storm")]
    )
    corpus, index = await Corpora(database).get("lib"), LexicalIndex(database)
    terms = await index.terms(corpus, "storm")
    found = {one.external_id: one for one in await index.top(corpus, terms, Filters(), 9)}
    place = found["a~part1"].place
    assert place == ItemPlace(
        item=place.item if place else 0,
        title="Title of a",
        part=1,
        heading="Prices",
        page=1,
        last_page=1,
        pages=2,
    )
    assert found["c"].place is None
    shown = await DocumentLookup(database).document(corpus, "a~part2")
    assert shown is not None
    assert (shown.candidate.place and shown.candidate.place.page, shown.attribution) == (
        2, "a.pdf#page=2",
    )  # fmt: skip


async def test_each_part_keeps_its_date_and_date_kind_and_none_is_invented(
    database: Database,
) -> None:
    corpus, documents = await _library(database), Documents(database)
    dates = {"a": (NOW, DateKind.MODIFIED), "b": (None, None), "c": (NOW, None)}
    items = [
        replace(_item(name, f"storm {name}", "rain"), created_at=date, dated_by=dated_by)
        for name, (date, dated_by) in dates.items()
    ]
    assert await documents.upsert(corpus, items) == (3, 0)
    for name, expected in dates.items():
        found = await DocumentLookup(database).document(corpus, f"{name}~part1")
        assert found and (found.candidate.created_at, found.candidate.dated_by) == expected
    assert await Documents(database).forget(corpus, before=NOW + timedelta(days=1)) == 4
    assert await _ids(database) == ["b~part1", "b~part2"]

"""Vectors in the database: what is missing is made, once, whoever stops it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from db.search.embeddings import Embeddings
from engine.embed.fill import BATCH, ENOUGH, FillResult, fill_vectors
from engine.errors import ModelAnswerInvalid, StorageError, UsageError, VectorsUnsupported
from engine.values import Corpus
from engine.vectors import NewVector, Vector, source_of
from tests.database import execute, pool_on
from tests.db.loading import document, load, load_texts
from tests.db.vectors import WordModel, can_keep_vectors

TEXTS = [f"thought {n} of rust and rain {n % 7}" for n in range(3 * BATCH)]


async def filled(
    embeddings: Embeddings,
    model: WordModel,
    corpus: Corpus,
    seen: list[tuple[int, int]] | None = None,
) -> FillResult:
    def progress(done: int, total: int) -> None:
        if seen is not None:
            seen.append((done, total))

    return await fill_vectors(embeddings, model, corpus, progress=progress)


async def test_every_document_is_embedded_once(database: Database, embeddings: Embeddings) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    model = WordModel()
    seen: list[tuple[int, int]] = []
    first = await filled(embeddings, model, corpus, seen)
    assert (first.embedded, first.documents, first.dimensions) == (len(TEXTS), len(TEXTS), 16)
    assert seen[0] == (0, len(TEXTS))
    assert seen[-1] == (len(TEXTS), len(TEXTS))
    assert sorted(model.documents) == sorted(TEXTS)
    again = await filled(embeddings, model, corpus)
    assert (again.embedded, again.documents) == (0, len(TEXTS))
    assert len(model.documents) == len(TEXTS)


async def test_only_new_and_changed_texts_are_embedded(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one thing", "two things", "three things"])
    await filled(embeddings, WordModel(), corpus)
    await load(
        database,
        "c",
        [document("1", "two other things", day=1), document("9", "a new one", day=9)],
    )
    model = WordModel()
    assert (await filled(embeddings, model, corpus)).embedded == 2
    assert sorted(model.documents) == ["a new one", "two other things"]


async def test_a_change_outside_the_text_is_not_embedded_again(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one thing"])
    await filled(embeddings, WordModel(), corpus)
    liked = replace(document("0", "one thing"), engagement=7, digest=12345)
    assert await Documents(database).upsert(corpus, [liked]) == (0, 1)
    assert (await filled(embeddings, WordModel(), corpus)).embedded == 0


async def test_a_stop_loses_no_more_than_a_batch(
    database: Database, embeddings: Embeddings
) -> None:
    class Dies(WordModel):
        async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            if len(self.documents) >= 2 * BATCH:
                raise asyncio.CancelledError
            return await super().embed_documents(texts)

    corpus = await load_texts(database, "c", TEXTS)
    with pytest.raises(asyncio.CancelledError):
        await filled(embeddings, Dies(), corpus)
    model = WordModel()
    assert (await filled(embeddings, model, corpus)).embedded == len(TEXTS) - 2 * BATCH
    assert len(model.documents) == len(TEXTS) - 2 * BATCH


async def test_texts_that_say_nothing_have_no_vector_and_are_not_tried_again(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["words", "https://t.co/x", "…"])
    model = WordModel()
    first = await filled(embeddings, model, corpus)
    assert (first.embedded, first.documents) == (3, 1)
    assert model.documents == ["words"]
    assert (await filled(embeddings, model, corpus)).embedded == 0


async def test_models_keep_their_vectors_side_by_side(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one", "two"])
    short, long = WordModel(name="short", dimensions=8), WordModel(name="long", dimensions=32)
    await filled(embeddings, short, corpus)
    await filled(embeddings, long, corpus)
    assert (await filled(embeddings, short, corpus)).embedded == 0  # back again: nothing to do
    spaces = [await embeddings.space(corpus, name) for name in ("short", "long")]
    assert [space.dimensions for space in spaces if space] == [8, 32]
    await embeddings.clear("short")
    assert await embeddings.space(corpus, "short") is None
    assert [model.name for model in await embeddings.models()] == ["long"]
    assert (await filled(embeddings, long, corpus)).embedded == 0


async def test_a_model_that_is_not_kept_cannot_be_cleared(
    database: Database, embeddings: Embeddings
) -> None:
    with pytest.raises(UsageError, match="No vectors of a model 'x' are kept"):
        await embeddings.clear("x")
    await filled(embeddings, WordModel(), await load_texts(database, "c", ["one"]))
    with pytest.raises(UsageError, match="There are: words"):
        await embeddings.clear("x")


async def test_vectors_of_another_length_are_not_mixed_in(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one"])
    await filled(embeddings, WordModel(), corpus)
    with pytest.raises(UsageError, match="16 dimensions, not 8"):
        await filled(embeddings, WordModel(dimensions=8), corpus)


@pytest.mark.parametrize("dimensions", [0, 4001])
async def test_vectors_that_cannot_be_indexed_are_refused(
    embeddings: Embeddings, dimensions: int
) -> None:
    with pytest.raises(UsageError, match="cannot be kept"):
        await embeddings.prepare("m", dimensions)


async def test_an_unknown_dimension_is_requested_from_the_model(
    database: Database, embeddings: Embeddings
) -> None:
    class Unsure(WordModel):
        async def embed_query(self, text: str) -> Vector:
            return [1.0, 2.0, 3.0]

        async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            return [[1.0, 2.0, 3.0] for _ in texts]

    corpus = await load_texts(database, "c", ["one"])
    assert (await filled(embeddings, Unsure(dimensions=None), corpus)).dimensions == 3


async def test_a_model_that_leaves_texts_out_is_refused(
    database: Database, embeddings: Embeddings
) -> None:
    class Lazy(WordModel):
        async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            return (await super().embed_documents(texts))[1:]

    corpus = await load_texts(database, "c", ["one", "two"])
    with pytest.raises(ModelAnswerInvalid, match="gave 1 of 2 vectors"):
        await filled(embeddings, Lazy(), corpus)


async def test_concurrent_preparation_registers_a_model_once(embeddings: Embeddings) -> None:
    ids = await asyncio.gather(*(embeddings.prepare("words", 16) for _ in range(4)))
    assert len(set(ids)) == 1


async def test_vectors_go_with_their_corpus_and_their_documents(
    database: Database, embeddings: Embeddings
) -> None:
    kept = await load_texts(database, "kept", ["one", "two"])
    gone = await load_texts(database, "gone", ["three"])
    for corpus in (kept, gone):
        await filled(embeddings, WordModel(), corpus)
    model_id = (await embeddings.models())[0].id
    await Corpora(database).drop("gone")
    async with database.connection() as connection:
        await connection.execute("DELETE FROM document WHERE external_id = '0'")
        before = await connection.fetchval(f"SELECT count(*) FROM embedding_{model_id}")
    assert before == 2
    assert (await filled(embeddings, WordModel(), kept)).documents == 1


async def test_a_vector_of_a_corpus_that_was_dropped_meanwhile_is_refused(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one"])
    model_id = await embeddings.prepare("words", 2)
    await Corpora(database).drop("c")
    with pytest.raises(StorageError):
        await embeddings.store(
            corpus, model_id, [NewVector(id=1, source=source_of("one"), vector=[1.0, 0.0])]
        )


async def test_the_scale_is_measured_and_measured_anew_when_the_corpus_has_grown(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", [f"word{n} other{n}" for n in range(60)])
    await filled(embeddings, WordModel(), corpus)
    space = await embeddings.space(corpus, "words")
    assert space is not None
    assert space.scale is not None
    assert space.scale.same == pytest.approx(1, abs=0.01)  # halves have three digits
    assert abs(space.scale.mean) < 0.2
    assert space.scale.deviation > 0.05
    assert await embeddings.count_measured(corpus, space.model_id) == 60
    model = WordModel()
    await load(database, "c", [document(f"n{n}", f"new{n}") for n in range(4)])
    await filled(embeddings, model, corpus)
    assert model.queries == []  # a tenth more changes nothing
    await load(database, "c", [document(f"m{n}", f"many{n}") for n in range(9)])
    await filled(embeddings, model, corpus)
    assert await embeddings.count_measured(corpus, space.model_id) == 73


async def test_no_scale_is_measured_with_few_documents(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", [f"word{n}" for n in range(ENOUGH - 1)])
    await filled(embeddings, WordModel(), corpus)
    space = await embeddings.space(corpus, "words")
    assert space is not None
    assert space.scale is None
    await load(database, "c", [document("one more", "word")])
    await filled(embeddings, WordModel(), corpus)
    assert await embeddings.count_measured(corpus, space.model_id) == ENOUGH


async def test_a_server_without_pgvector_says_so_and_is_left_as_it_was(
    database: Database, database_url: str
) -> None:
    if await can_keep_vectors(database):
        async with database.connection() as connection:
            name = await connection.fetchval("SELECT current_database()")
            version = int(await connection.fetchval("SHOW server_version_num"))
        if version < 180_000:
            pytest.skip("pgvector cannot be hidden from a server before PostgreSQL 18")
        # From here on the server looks for its extensions where there are none.
        await execute(
            database_url, f"ALTER DATABASE \"{name}\" SET extension_control_path = '/nowhere'"
        )
    async with pool_on(database_url) as fresh:
        with pytest.raises(VectorsUnsupported, match="Searches go on by words"):
            await Embeddings(fresh).prepare("words", 16)
        corpus = await load_texts(fresh, "c", ["one"])
        assert await Embeddings(fresh).space(corpus, "words") is None
        assert await Embeddings(fresh).models() == []

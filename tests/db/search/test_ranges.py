"""Several processes embed one corpus: each text once, none left out, whoever is killed."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from db.lease import LeaseTimes
from db.pool import Database
from db.search.embeddings import Embeddings
from engine.embed.fill import ENOUGH, FillResult, fill_vectors
from engine.errors import EmbeddedElsewhere
from engine.values import Corpus
from engine.vectors import (
    SETTLING,
    CorpusWords,
    NewVector,
    Scale,
    Vector,
    ids_of,
    range_of,
    source_of,
)
from tests.database import fetch_rows, fetch_value, run_sql
from tests.db.loading import load_texts
from tests.db.vectors import WordModel, require_vectors
from tests.patience import PATIENCE

TEXTS = [f"thought {n} of rust and rain {n % 7}" for n in range(2 * ENOUGH)]
# A range that nobody renews for two seconds is taken over.
SHORT = LeaseTimes(holds=2.0, sure=1.5, renewal=0.05)
MODEL = WordModel()


class Counting(Embeddings):
    """Counts how often indexes were brought up to date."""

    settled = 0

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        type(self).settled += 1
        await super().settle(corpus, model_id)


class Slow(WordModel):
    """Lets the others have their turn, and begins together with them."""

    begin: asyncio.Barrier | None = None

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.begin and not self.documents:
            async with asyncio.timeout(PATIENCE):
                await self.begin.wait()
        await asyncio.sleep(0.005)
        return await super().embed_documents(texts)


@dataclass
class Process:
    """Stands for a process: its own model, and what it showed."""

    embeddings: Embeddings
    corpus: Corpus
    model: Slow = field(default_factory=Slow)
    shown: list[tuple[int, int]] = field(default_factory=list)

    async def fill(self) -> FillResult:
        return await fill_vectors(
            self.embeddings,
            self.model,
            self.corpus,
            progress=lambda done, total: self.shown.append((done, total)),
            batch=4,
        )


@pytest.fixture(autouse=True)
async def _small_ranges(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await require_vectors(database)
    monkeypatch.setattr("engine.vectors.RANGE", 8)
    monkeypatch.setattr(Counting, "settled", 0)


async def leases(database: Database) -> list[str]:
    rows = await fetch_rows(database, "SELECT name FROM lease WHERE name LIKE 'embed %'")
    return [row["name"] for row in rows]


@pytest.mark.parametrize("processes", [1, 2, 4])
async def test_concurrent_processes_embed_each_text_once_and_update_the_index_once(
    database: Database, processes: int
) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    embeddings = Counting(database, times=LeaseTimes(renewal=0.05))
    running = [Process(embeddings, corpus) for _ in range(processes)]
    begin = asyncio.Barrier(processes)
    for one in running:
        one.model.begin = begin
    filled = await asyncio.gather(*(one.fill() for one in running))
    assert Counter(text for one in running for text in one.model.documents) == Counter(TEXTS)
    assert sum(one.embedded for one in filled) == len(TEXTS)
    assert min(one.embedded for one in filled) > 0
    assert {one.vectors for one in filled} == {len(TEXTS)}
    for one in running:
        assert one.shown == sorted(one.shown)
        assert one.shown[-1] == (len(TEXTS), len(TEXTS))
    assert Counting.settled == 1
    assert sum(bool(one.model.queries) for one in running) == 1  # the scale, too
    await Process(embeddings, corpus).fill()
    assert await leases(database) == [f"embed {corpus.id} 1 {SETTLING}"]  # none of the ranges


async def test_the_range_of_a_killed_process_is_taken_over(database: Database) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    embeddings = Embeddings(database, times=SHORT)
    model_id = await embeddings.prepare(MODEL.name, 16)
    first = min(await embeddings.missing_by_range(corpus, model_id))
    name = f"embed {corpus.id} {model_id} {first}"
    left = (
        "INSERT INTO lease (name, holder, fence, renewals, seconds, expires_at)"
        " VALUES ($1, 'killed', 1, 7, 2, now() + interval '2 s')"
    )
    await run_sql(database, left, name)
    process = Process(embeddings, corpus)
    async with asyncio.timeout(PATIENCE):
        assert (await process.fill()).embedded == len(TEXTS)
    held = [text for text in process.model.documents[-8:] if text in TEXTS[:8]]
    assert held  # it came last, when all else was done


async def test_a_thawed_process_cannot_overwrite_vectors_of_its_successor(
    database: Database,
) -> None:
    corpus = await load_texts(database, "c", ["old text"])
    embeddings = Embeddings(database, times=LeaseTimes(renewal=0.05))
    model_id = await embeddings.prepare("words", 2)
    [number] = await embeddings.missing_by_range(corpus, model_id)
    [[one]] = [part async for part in embeddings.find_missing(corpus, model_id)]
    mine = NewVector(id=one.id, source=source_of("mine"), vector=[1.0, 0.0])
    async with embeddings.claim(corpus, model_id, number) as claim:
        assert claim
        assert await embeddings.store(corpus, model_id, [mine], claim=claim) == 1
        later = replace(mine, source=source_of("later"))
        await embeddings.store(corpus, model_id, [later], claim=claim)
        for lost in (replace(claim, fence=claim.fence + 1), replace(claim, holder="another")):
            with pytest.raises(EmbeddedElsewhere, match="took over texts of c"):
                await embeddings.store(corpus, model_id, [mine], claim=lost)
    source = await fetch_value(database, f"SELECT source::text FROM embedding_{model_id}")
    assert source.replace("-", "") == later.source
    assert (await embeddings.count_vectors(corpus, model_id)).stored == 2


async def test_a_process_that_loses_a_range_embeds_what_is_left_of_it_later(
    database: Database,
) -> None:
    corpus = await load_texts(database, "c", TEXTS[:8])
    embeddings = Embeddings(database, times=SHORT)

    class Loses(WordModel):
        async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            if not self.documents:  # as if another process had taken it over and died
                await run_sql(database, "UPDATE lease SET fence = fence + 1, holder = 'killed'")
            return await super().embed_documents(texts)

    async with asyncio.timeout(PATIENCE):
        filled = await fill_vectors(embeddings, Loses(), corpus, progress=lambda *_: None, batch=4)
    assert filled.vectors == 8


async def test_a_process_that_lost_its_claim_cannot_store_a_scale(database: Database) -> None:
    corpus = await load_texts(database, "c", ["one"])
    embeddings = Embeddings(database, times=LeaseTimes(renewal=0.05))
    model_id = await embeddings.prepare("words", 16)
    scale = Scale(mean=0.1, deviation=0.1, same=0.9)
    async with embeddings.claim(corpus, model_id, SETTLING) as claim:
        assert claim is not None
        lost = replace(claim, fence=claim.fence + 1)
        await embeddings.keep_scale(corpus, model_id, scale, documents=7, claim=lost)
        assert await embeddings.count_measured(corpus, model_id) == 0
        await embeddings.keep_scale(corpus, model_id, scale, documents=7, claim=claim)
        assert await embeddings.count_measured(corpus, model_id) == 7


async def test_only_one_of_two_processes_begins_a_new_generation(database: Database) -> None:
    corpus = await load_texts(database, "c", ["one"])
    embeddings = Embeddings(database)
    model_id = await embeddings.prepare("words", 16)
    seen = CorpusWords(shares={"a": 0.5}, index_version=1)
    assert await embeddings.renew(corpus, model_id, seen, anew=False)
    assert await embeddings.renew(corpus, model_id, seen, anew=True)
    assert not await embeddings.renew(corpus, model_id, seen, anew=True)
    assert (await embeddings.words(corpus, model_id)).generation == 1


@pytest.mark.parametrize("document_id", [0, 1, 7, 8, 9, 2**40])
def test_a_document_is_in_one_range(document_id: int) -> None:
    after, last = ids_of(range_of(document_id))
    assert after < document_id <= last
    assert range_of(after) == range_of(document_id) - 1
    assert range_of(last + 1) == range_of(document_id) + 1

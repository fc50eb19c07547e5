"""Records become documents batch by batch: nothing twice, nothing lost, whatever is cut off."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from engine.corpora import Document
from engine.errors import InputError, RecordError, StorageError, StorageInterrupted
from engine.ingest.isolated_reader import IsolatedSource
from engine.ingest.load import IngestReport, Loader
from engine.ingest.normalise import normalise
from engine.ingest.records import (
    Batch,
    BatchLost,
    Defaults,
    RecordPlace,
    Reject,
    SourceRecord,
    build_fingerprint,
    external_id,
)
from engine.values import Corpus, Kind
from tests.patience import PATIENCE, until

Record = SourceRecord | Reject
_NUMBERS = itertools.count()
ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["one", "two", " "])))


class Shelf(Documents):
    """The documents, with an eye on each batch and a hand that can hold it back."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.database = database
        self.batches: list[int] = []
        self.free = asyncio.Event()
        self.free.set()
        self.failure: StorageError | None = None

    async def upsert(self, corpus: Corpus, documents: Sequence[Document]) -> tuple[int, int]:
        self.batches.append(len(documents))
        await self.free.wait()
        if self.failure:
            raise self.failure
        return await super().upsert(corpus, documents)


@pytest.fixture
async def shelf(database_url: str) -> AsyncIterator[Shelf]:
    database = await Database.open(database_url)
    yield Shelf(database)
    await database.close()


@pytest.fixture
async def corpus(shelf: Shelf) -> Corpus:
    return await corpus_of(shelf, "c")


async def corpus_of(shelf: Shelf, name: str) -> Corpus:
    return await Corpora(shelf.database).ensure(
        name, kind=Kind.TWEETS, language="simple", author=None
    )


def record(identity: str, text: str = "some words", line: int = 1) -> SourceRecord:
    """A record of the plain format; with an empty text it is unusable."""
    when = datetime(2012, 1, 1, tzinfo=UTC).isoformat()
    return SourceRecord(
        file="f",
        line=line,
        unit="line",
        external_id=identity,
        digest=build_fingerprint(Defaults())(f"{identity} {text}".encode()),
        format="jsonl",
        payload={"id": identity, "text": text, "created_at": when},
    )


def records(number: int, first: int = 0) -> list[Record]:
    return [record(str(n), line=n) for n in range(first, first + number)]


class Pile(IsolatedSource):
    """A source of records that are there already."""

    def __init__(self, found: Iterable[Record]) -> None:
        self._found = iter(found)
        self._versions: dict[str, list[SourceRecord]] = {}

    async def batch(self, number: int) -> Batch:
        taken, damage = list[Record](), None
        try:
            taken.extend(itertools.islice(self._found, number))
        except InputError as exc:
            damage = exc
        self._versions = {}
        for found in taken:
            if isinstance(found, SourceRecord):
                self._versions.setdefault(found.external_id, []).append(found)
        return Batch(
            read=len(taken),
            digests={identity: found[-1].digest for identity, found in self._versions.items()},
            rejects=tuple(found for found in taken if isinstance(found, Reject)),
            damage=damage,
            last=len(taken) < number,
        )

    async def documents(self, ids: Collection[str]) -> tuple[list[Document], list[Reject]]:
        documents, rejects = list[Document](), list[Reject]()
        for identity in ids:
            for found in reversed(self._versions[identity]):
                try:
                    documents.append(normalise(found, Defaults()))
                    break
                except RecordError as exc:
                    rejects.append(found.reject(str(exc)))
        return documents, rejects


class Run:
    """One loader and what it tells."""

    def __init__(self, shelf: Shelf, corpus: Corpus, *, batch: int = 3) -> None:
        self.rejects: list[Reject] = []
        self.reports: list[IngestReport] = []
        rejected, progress = self.rejects.append, self.reports.append
        self.loader = Loader(shelf, corpus, rejected=rejected, progress=progress, batch=batch)

    async def load(self, found: Iterable[Record]) -> tuple[int, int, int, int, int]:
        return counts(await self.loader.load(Pile(found)))


def counts(report: IngestReport) -> tuple[int, int, int, int, int]:
    """read, inserted, updated, unchanged, rejected"""
    return report.read, report.inserted, report.updated, report.unchanged, report.rejected


async def stored(shelf: Shelf, corpus: Corpus) -> dict[str, str]:
    async with shelf.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT external_id, text FROM document WHERE corpus_id = $1", corpus.id
        )
    return {row["external_id"]: row["text"] for row in rows}


async def test_batches_add_up_over_sources(shelf: Shelf, corpus: Corpus) -> None:
    run = Run(shelf, corpus)
    assert await run.load(records(7)) == (7, 7, 0, 0, 0)
    assert shelf.batches == [3, 3, 1]
    assert await run.load(records(4, first=5)) == (11, 9, 0, 2, 0)
    assert await stored(shelf, corpus) == {str(n): "some words" for n in range(9)}


async def test_nothing_is_written_when_nothing_changed(shelf: Shelf, corpus: Corpus) -> None:
    await Run(shelf, corpus).load(records(7))
    shelf.batches.clear()
    assert await Run(shelf, corpus).load(records(7)) == (7, 0, 0, 7, 0)
    assert shelf.batches == []


async def test_an_empty_source_is_not_usable(shelf: Shelf, corpus: Corpus) -> None:
    run = Run(shelf, corpus)
    assert await run.load([]) == (0, 0, 0, 0, 0)
    assert not run.loader.report.usable


async def test_rejects_of_reader_and_normaliser_are_reported(shelf: Shelf, corpus: Corpus) -> None:
    run = Run(shelf, corpus)
    bad = Reject(file="f", line=8, reason="broken")
    assert await run.load([record("1"), bad, record("2", " ", line=9)]) == (3, 1, 0, 0, 2)
    assert run.rejects == [bad, Reject(file="f", line=9, reason="the text is empty")]
    assert run.loader.report.usable


async def test_progress_grows_to_the_result(shelf: Shelf, corpus: Corpus) -> None:
    run = Run(shelf, corpus)
    await run.load(records(7))
    seen = [report.read for report in run.reports]
    assert seen == sorted(seen)
    assert run.reports[-1] == run.loader.report
    assert all(report.unchanged >= 0 for report in run.reports)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=ROWS, second=ROWS, batch=st.integers(1, 5))
def test_the_last_usable_version_wins_and_all_versions_are_counted(
    database_url: str, first: list[tuple[str, str]], second: list[tuple[str, str]], batch: int
) -> None:
    async def check() -> None:
        database = await Database.open(database_url)
        shelf = Shelf(database)
        corpus = await corpus_of(shelf, f"c{next(_NUMBERS)}")
        for rows in (first, second):
            run = Run(shelf, corpus, batch=batch)
            found = [record(identity, text) for identity, text in rows]
            read, inserted, updated, unchanged, rejected = await run.load(found)
            assert read == len(rows) == inserted + updated + unchanged + rejected
            assert unchanged >= 0
            assert rejected == len(run.rejects)
        expected = {identity: text for identity, text in first + second if text != " "}
        assert await stored(shelf, corpus) == expected
        await database.close()

    asyncio.run(check())


async def test_a_version_that_returns_while_another_is_being_stored_wins(
    shelf: Shelf, corpus: Corpus
) -> None:
    versions = [record("1", text) for text in ("one", "two", "one")]
    assert await Run(shelf, corpus, batch=1).load(versions) == (3, 1, 2, 0, 0)
    assert await stored(shelf, corpus) == {"1": "one"}


async def test_records_before_damage_are_stored(shelf: Shelf, corpus: Corpus) -> None:
    def damaged() -> Iterator[Record]:
        yield from records(5)
        raise InputError("the file is cut off")

    run = Run(shelf, corpus)
    with pytest.raises(InputError, match="cut off"):
        await run.load(damaged())
    assert counts(run.loader.report) == (5, 5, 0, 0, 0)
    assert len(await stored(shelf, corpus)) == 5


async def test_storage_errors_are_raised_and_loading_can_be_repeated(
    shelf: Shelf, corpus: Corpus
) -> None:
    shelf.failure = StorageInterrupted("The connection was lost.")
    with pytest.raises(StorageInterrupted):
        await Run(shelf, corpus).load(records(7))
    shelf.failure = None
    assert await Run(shelf, corpus).load(records(7)) == (7, 7, 0, 0, 0)


async def test_cancelling_rolls_back_the_batch_being_stored(shelf: Shelf, corpus: Corpus) -> None:
    shelf.free.clear()
    loading = asyncio.create_task(Run(shelf, corpus).load(records(9)))
    await until(lambda: shelf.batches)
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    assert await stored(shelf, corpus) == {}
    shelf.free.set()
    assert await Run(shelf, corpus).load(records(9)) == (9, 9, 0, 0, 0)


async def test_cancelling_does_not_wait_for_a_silent_source(shelf: Shelf, corpus: Corpus) -> None:
    reading = asyncio.Event()

    class Silent(Pile):
        async def batch(self, number: int) -> Batch:
            reading.set()
            await asyncio.Event().wait()
            raise AssertionError

    loading = asyncio.create_task(Run(shelf, corpus).loader.load(Silent([])))
    await reading.wait()
    loading.cancel()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(asyncio.CancelledError):
            await loading


async def test_a_lost_batch_is_read_again_and_counted_once(shelf: Shelf, corpus: Corpus) -> None:
    bad = Reject(file="f", line=2, reason="it takes too long")

    class Fragile(Pile):
        """The second record ends whoever reads it; it is left out then."""

        lost = False

        def __init__(self) -> None:
            super().__init__(records(3))

        async def documents(self, ids: Collection[str]) -> tuple[list[Document], list[Reject]]:
            if self.lost:
                return await super().documents(ids)
            self.lost = True
            self._found = iter([record("0"), bad, record("2", line=2)])
            raise BatchLost

    run = Run(shelf, corpus)
    assert counts(await run.loader.load(Fragile())) == (3, 2, 0, 0, 1)
    assert run.rejects == [bad]
    assert set(await stored(shelf, corpus)) == {"0", "2"}


async def test_incomplete_documents_are_stored_and_retried(shelf: Shelf, corpus: Corpus) -> None:
    class Scans(Pile):
        """Documents that lack pages."""

        async def documents(self, ids: Collection[str]) -> tuple[list[Document], list[Reject]]:
            found, rejects = await super().documents(ids)
            lacking = [replace(one, unread="no eyes", digest=~one.digest) for one in found]
            return lacking, rejects

    run = Run(shelf, corpus)
    assert counts(await run.loader.load(Scans(records(1)))) == (1, 1, 0, 0, 0)
    assert run.rejects == [Reject(file="0", line=1, reason="no eyes", stored=True)]
    again = Run(shelf, corpus)
    assert counts(await again.loader.load(Scans(records(1)))) == (1, 0, 0, 1, 0)
    assert again.rejects == run.rejects
    assert counts(await Run(shelf, corpus).loader.load(Pile(records(1)))) == (1, 0, 1, 0, 0)


async def test_threads_are_joined_across_batches_and_sources(shelf: Shelf, corpus: Corpus) -> None:
    def post(identity: str, answered: str | None) -> SourceRecord:
        plain = record(identity, f"text of {identity}")
        return replace(plain, payload={**plain.payload, "author": "me", "in_reply_to": answered})

    run = Run(shelf, corpus, batch=1)
    await run.load([post("2", "1")])
    await run.load([post("1", None)])
    await run.loader.finish()
    async with shelf.database.connection() as connection:
        context = await connection.fetchval("SELECT context FROM document WHERE external_id = '1'")
    assert context == "text of 2"


@pytest.mark.parametrize(
    ("value", "identity"),
    [
        ("1131393056299786240", "1131393056299786240"),
        (1131393056299786240, "1131393056299786240"),
        (18446744073709551615, "18446744073709551615"),
        (" a-b ", "a-b"),
        ("1e5x", "1e5x"),
        (0, "0"),
    ],
)
def test_an_id_is_exact_text(value: object, identity: str) -> None:
    assert external_id(value) == identity


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no id"),
        ("", "no id"),
        ("  ", "no id"),
        (1.131393056299786e18, "last digits are lost"),
        ("1.13139E+18", "rounded by a spreadsheet"),
        ("1,13139E+18", "rounded by a spreadsheet"),
        ("1E+18", "rounded by a spreadsheet"),
        (True, "true or false"),
        ([1], "a list"),
        ({}, "an object"),
        ("a\x00b", "control characters"),
        ("\ud800", "control characters"),
        ("1" * 201, "longer than 200"),
    ],
)
def test_an_id_is_refused_with_the_reason(value: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        external_id(value)


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_digests_differ_where_records_differ(first: bytes, second: bytes) -> None:
    digest = build_fingerprint(Defaults(), "jsonl")
    assert (digest(first) == digest(second)) == (first == second)
    assert -(2**63) <= digest(first) < 2**63


def test_the_digest_depends_on_defaults_and_format() -> None:
    variants = [
        build_fingerprint(Defaults(), "jsonl"),
        build_fingerprint(Defaults(author="a"), "jsonl"),
        build_fingerprint(Defaults(), "api"),
        build_fingerprint(Defaults(), "x-archive", "a"),
    ]
    assert len({digest(b"{}") for digest in variants}) == 4


def test_the_digest_is_the_same_in_every_process() -> None:
    assert build_fingerprint(Defaults(), "jsonl")(b"{}") == -1838392610866160498


def test_a_reject_names_the_record_where_there_is_no_line() -> None:
    assert RecordPlace("f", 17, "record").reject("no id").reason == "record 17: no id"
    assert RecordPlace("f", 17, "line").reject("no id").reason == "no id"

"""Documents go in whole batches, with statistics that a recount confirms."""

import asyncio
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.connection import Connection
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database, PoolSettings
from db.search.shown import DocumentLookup
from db.search.statements import CLASSES
from engine.corpora import Document
from engine.errors import StorageError, StorageInterrupted
from engine.values import Corpus, Flag, Kind
from tests.database import fetch_row, fetch_rows, fetch_value, run_sql, until_blocked
from tests.db.loading import assert_exact, document, kept, load, load_texts, new_corpus, read_back
from tests.patience import PATIENCE, movable_time

_numbers = itertools.count()


async def test_a_batch_says_what_was_new_and_what_changed(database: Database) -> None:
    corpus, documents = await new_corpus(database), Documents(database)
    first = [document("1", "storm"), document("2", "rain"), document("3", "snow")]
    assert await documents.upsert(corpus, first) == (3, 0)
    assert await documents.upsert(corpus, first) == (0, 0)
    second = [first[0], document("2", "rain rain"), document("4", "fog")]
    assert await documents.upsert(corpus, second) == (1, 1)
    await assert_exact(database, corpus)
    frequencies = (await kept(database, corpus)).document_frequencies
    assert frequencies == {"storm": 1, "rain": 1, "snow": 1, "fog": 1}


async def test_the_same_id_in_two_corpora_makes_two_documents(database: Database) -> None:
    one, two = await new_corpus(database, "one"), await new_corpus(database, "two")
    documents = Documents(database)
    assert await documents.upsert(one, [document("1", "storm")]) == (1, 0)
    assert await documents.upsert(two, [document("1", "rain")]) == (1, 0)
    assert [s.frequencies for s in await read_back(database, one)] == [{"storm": 1}]


async def test_new_and_changed_documents_are_outdated(database: Database) -> None:
    stored = document("1", "storm")
    corpus = await load(database, "c", [stored, document("2", "rain")])
    await load(database, "other", [document("3", "snow")])
    digests = {"1": stored.digest, "2": 42, "3": 43}
    assert await Documents(database).find_outdated(corpus, digests) == {"2", "3"}
    assert await Documents(database).find_outdated(corpus, {}) == set()


async def test_every_field_is_stored(database: Database) -> None:
    given_document = replace(
        document("9007199254740993", "storm", shown="Storm! 🌩", lang="en", flags=Flag.QUOTE),
        author="ana",
        title="T",
        role="own",
        url="https://x.example/1",
        reply_to="7",
        platform="mastodon",
        thread="t/1",
        attribution="export/outbox.json#1",
        tags=("weather", "día"),
        mentions=("bob",),
        engagement=2**31 - 1,
        digest=-(2**63),
        meta={"device": 'a "phone"', "n": [1, None]},
    )
    corpus = await load(database, "c", [given_document])
    row = await fetch_row(
        database, "SELECT *, meta::text AS meta_text FROM document WHERE corpus_id = $1", corpus.id
    )
    assert row
    for name in ("external_id", "text", "search_text", "created_at", "digest", "author", "title"):
        assert row[name] == getattr(given_document, name)
    for name in ("role", "lang", "url", "reply_to", "engagement"):
        assert row[name] == getattr(given_document, name)
    assert (row["platform"], row["thread_id"]) == ("mastodon", "t/1")
    assert row["attribution"] == "export/outbox.json#1"
    assert (row["tags"], row["mentions"]) == (["weather", "día"], ["bob"])
    assert (row["flags"], row["language"]) == (int(Flag.QUOTE), "english")
    assert '"device": "a \\"phone\\""' in row["meta_text"]


async def test_a_missing_author_defaults_to_the_author_of_the_corpus(database: Database) -> None:
    await new_corpus(database)
    corpus = await Corpora(database).change("c", author="ana")
    await Documents(database).upsert(
        corpus, [document("1", "storm"), document("2", "rain", author="bob")]
    )
    rows = await fetch_rows(database, "SELECT author FROM document ORDER BY external_id")
    assert [row["author"] for row in rows] == ["ana", "bob"]


async def test_a_changed_document_is_updated_in_place(database: Database) -> None:
    first = replace(document("1", "storm"), platform="slack", thread="a", attribution="e#1")
    corpus = await load(database, "c", [first])
    moved = replace(document("1", "rain"), platform="slack", thread="b", attribution="e#2")
    assert await Documents(database).upsert(corpus, [moved]) == (0, 1)
    row = await fetch_row(database, "SELECT thread_id, attribution FROM document")
    assert row
    assert tuple(row) == ("b", "e#2")


@pytest.mark.parametrize("kind", [Kind.TWEETS, Kind.SOCIAL])
async def test_the_platform_is_set_only_if_the_document_names_it(
    database: Database, kind: Kind
) -> None:
    corpus = await new_corpus(database, kind=kind)
    named = replace(document("2", "rain"), platform="web")
    await Documents(database).upsert(corpus, [document("1", "storm"), named])
    rows = await fetch_rows(database, "SELECT platform FROM document ORDER BY external_id")
    assert [row["platform"] for row in rows] == [None, "web"]


async def test_an_id_twice_in_a_batch_is_refused_and_nothing_is_stored(database: Database) -> None:
    corpus = await new_corpus(database)
    batch = [document("0", "fog"), document("1", "storm"), document("1", "rain")]
    with pytest.raises(StorageError, match="duplicate key"):
        await Documents(database).upsert(corpus, batch)
    assert await read_back(database, corpus) == []
    await assert_exact(database, corpus)


# --- statistics -----------------------------------------------------------------------------


async def test_statistics_follow_a_statement_over_two_corpora(database: Database) -> None:
    one = await load_texts(database, "one", ["storm", "rain"])
    two = await load_texts(database, "two", ["storm", "storm snow"])
    async with database.connection() as connection:
        await connection.execute("UPDATE document SET search_text = 'fog ' || search_text")
        await connection.execute("DELETE FROM document WHERE search_text = 'fog storm'")
    for corpus in (one, two):
        await assert_exact(database, corpus)


_ids = st.sampled_from("abcdef")
_texts = st.lists(
    st.sampled_from(["storm", "storms", "rain", "the", "tormentas", "más"]), max_size=5
).map(" ".join)
_documents = st.builds(
    document,
    _ids,
    _texts,
    lang=st.sampled_from([None, "en", "es", "xx"]),
    author=st.sampled_from(["ana", "bob"]),
    reply_to=st.none() | _ids,
)
_batches = st.lists(_documents, max_size=6, unique_by=lambda d: d.external_id)
_steps = st.lists(
    st.tuples(st.just("upsert"), _batches)
    | st.tuples(st.just("delete"), st.sets(_ids, max_size=3))
    | st.tuples(st.just("stitch"), st.none()),
    max_size=7,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=_steps)
async def test_statistics_are_exact_after_any_sequence(
    database: Database, steps: Sequence[tuple[str, object]]
) -> None:
    corpus = await new_corpus(database, f"c{next(_numbers)}", "english")
    model = Model(database, corpus)
    for name, argument in steps:
        await getattr(model, name)(argument)
    await assert_exact(database, corpus)
    assert {s.external_id for s in await read_back(database, corpus)} == set(model.digests)


@dataclass
class Model:
    """What should be stored, in a dictionary."""

    database: Database
    corpus: Corpus
    digests: dict[str, int] = field(default_factory=dict)

    async def upsert(self, batch: Sequence[Document]) -> None:
        new = [d for d in batch if d.external_id not in self.digests]
        changed = [d for d in batch if self.digests.get(d.external_id, d.digest) != d.digest]
        counts = await Documents(self.database).upsert(self.corpus, batch)
        assert counts == (len(new), len(changed))
        self.digests |= {d.external_id: d.digest for d in batch}

    async def delete(self, external_ids: set[str]) -> None:
        async with self.database.connection() as connection:
            await connection.execute(
                "DELETE FROM document WHERE corpus_id = $1 AND external_id = ANY ($2)",
                self.corpus.id,
                list(external_ids),
            )
        for external_id in external_ids:
            self.digests.pop(external_id, None)

    async def stitch(self, _: None) -> None:
        documents = Documents(self.database)
        await documents.stitch_threads(self.corpus)
        assert await documents.stitch_threads(self.corpus) == 0


# --- many writers ---------------------------------------------------------------------------


def overlapping(seed: int) -> list[list[Document]]:
    """Batches over the same few ids in ever other order, with other texts."""
    draw = random.Random(seed)
    words = ["storm", "rain", "snow", "fog", "hail", "sun", "wind"]
    return [
        [
            document(str(number), " ".join(draw.choices(words, k=4)), day=seed)
            for number in draw.sample(range(60), 40)
        ]
        for _ in range(6)
    ]


async def test_writers_of_overlapping_batches_leave_exact_statistics(database: Database) -> None:
    corpus, documents = await new_corpus(database), Documents(database)

    async def write(seed: int) -> int:
        return sum([(await documents.upsert(corpus, batch))[0] for batch in overlapping(seed)])

    async with asyncio.timeout(PATIENCE):
        inserted = await asyncio.gather(*(write(seed) for seed in range(4)))
    assert sum(inserted) == len(await read_back(database, corpus))
    await assert_exact(database, corpus)


async def test_writers_of_different_corpora_do_not_wait_for_each_other(database: Database) -> None:
    one, two = await new_corpus(database, "one"), await new_corpus(database, "two")
    paused = PausedDocuments(database)
    waiting = asyncio.create_task(paused.upsert(one, [document("1", "storm")]))
    await paused.reached.wait()
    await asyncio.wait_for(Documents(database).upsert(two, [document("1", "storm")]), PATIENCE)
    paused.go_on.set()
    assert await waiting == (1, 0)


async def test_a_batch_waits_for_its_turn_longer_than_a_query_may_take(
    database: Database, database_url: str
) -> None:
    corpus = await new_corpus(database)
    paused = PausedDocuments(database)
    first = asyncio.create_task(paused.upsert(corpus, [document("1", "storm")]))
    await paused.reached.wait()
    hasty = await Database.open(
        database_url, PoolSettings(command_timeout=PATIENCE, statement_timeout=0.5)
    )
    second = asyncio.create_task(Documents(hasty).upsert(corpus, [document("1", "rain")]))
    await until_blocked(database_url)
    with movable_time() as move:
        move(PATIENCE)
        await asyncio.sleep(0.6)
        assert not second.done()
    paused.go_on.set()
    assert (await first, await second) == ((1, 0), (0, 1))
    await hasty.close()


# --- writers that die -----------------------------------------------------------------------


class PausedDocuments(Documents):
    """Stops after the first statement that changes documents, inside the transaction."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()
        self.process = 0

    async def _fetch(self, connection: Connection, name: str, corpus: Corpus) -> asyncpg.Record:
        row = await super()._fetch(connection, name, corpus)
        self.process = await connection.fetchval("SELECT pg_backend_pid()")
        self.reached.set()
        await self.go_on.wait()
        return row


CHANGES = [document("1", "rain rain"), document("2", "snow"), document("3", "fog")]


async def test_a_cancelled_batch_leaves_nothing(database: Database) -> None:
    corpus = await load_texts(database, "c", ["zero", "storm"])
    before = await read_back(database, corpus)
    paused = PausedDocuments(database)
    writing = asyncio.create_task(paused.upsert(corpus, CHANGES))
    await paused.reached.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await read_back(database, corpus) == before
    await assert_exact(database, corpus)
    # Nothing is locked: the same batch goes in now.
    assert await asyncio.wait_for(Documents(database).upsert(corpus, CHANGES), PATIENCE) == (2, 1)


async def test_a_batch_whose_connection_dies_says_so_and_leaves_nothing(database: Database) -> None:
    corpus = await load_texts(database, "c", ["zero", "storm"])
    before = await read_back(database, corpus)
    paused = PausedDocuments(database)
    writing = asyncio.create_task(paused.upsert(corpus, CHANGES))
    await paused.reached.wait()
    assert await fetch_value(database, "SELECT pg_terminate_backend($1, 5000)", paused.process)
    paused.go_on.set()
    with pytest.raises(StorageInterrupted, match="connection to the database was lost"):
        await writing
    assert await read_back(database, corpus) == before
    await assert_exact(database, corpus)
    assert await Documents(database).upsert(corpus, CHANGES) == (2, 1)


# --- threads --------------------------------------------------------------------------------


async def contexts(database: Database) -> dict[str, str | None]:
    rows = await fetch_rows(database, "SELECT external_id, context FROM document")
    return dict(map(tuple, rows))


async def stitched(database: Database, *documents: Document) -> dict[str, str | None]:
    """Store, stitch, check that stitching again and the statistics are right; give contexts."""
    corpus = await load(database, "c", documents)
    await Documents(database).stitch_threads(corpus)
    assert await Documents(database).stitch_threads(corpus) == 0
    await assert_exact(database, corpus)
    return await contexts(database)


async def test_a_self_reply_is_searched_with_the_text_it_answers(database: Database) -> None:
    root = document("1", "storm comes", author="ana", shown="Storm comes!")
    reply = document("2", "tomorrow", author="ana", day=1, reply_to="1", flags=Flag.REPLY)
    assert await stitched(database, root, reply) == {"1": None, "2": "Storm comes!"}
    [_, found] = await read_back(database, await Corpora(database).get("c"))
    assert found.frequencies == {"tomorrow": 1, "storm": 1, "comes": 1}
    assert found.flags == Flag.REPLY | Flag.THREAD


@pytest.mark.parametrize(
    ("author", "reply_to"), [("bob", "1"), ("ana", "unknown"), ("ana", "2"), (None, "1")]
)
async def test_replies_to_others_get_no_context(
    database: Database, author: str | None, reply_to: str
) -> None:
    root = document("1", "storm", author="ana")
    reply = document("2", "rain", author=author, day=1, reply_to=reply_to)
    assert await stitched(database, root, reply) == {"1": None, "2": None}


async def test_documents_without_author_count_as_one_account(database: Database) -> None:
    root, reply = document("1", "storm"), document("2", "rain", day=1, reply_to="1")
    assert (await stitched(database, root, reply))["2"] == "storm"


async def test_a_reply_to_an_id_of_another_corpus_gets_no_context(database: Database) -> None:
    await load(database, "other", [document("1", "storm", author="ana")])
    assert await stitched(database, document("2", "rain", author="ana", day=1, reply_to="1")) == {
        "1": None,
        "2": None,
    }


async def test_a_thread_is_stitched_one_level_deep(database: Database) -> None:
    thread = [
        document("0", "a"),
        document("1", "b", day=1, reply_to="0"),
        document("2", "c", day=2, reply_to="1"),
    ]
    assert await stitched(database, *thread) == {"0": None, "1": "a", "2": "b"}


async def test_circular_replies_do_not_loop(database: Database) -> None:
    circle = [document("1", "a", reply_to="2"), document("2", "b", day=1, reply_to="1")]
    assert await stitched(database, *circle) == {"1": "b", "2": "a"}


async def test_a_root_that_comes_later_is_stitched_then(database: Database) -> None:
    assert await stitched(database, document("2", "rain", day=1, reply_to="1")) == {"2": None}
    assert (await stitched(database, document("1", "storm")))["2"] == "storm"


@pytest.mark.parametrize(
    "changed", [document("1", "calm"), document("1", "storm", shown="Storm!!!"), document("1", "")]
)
async def test_a_root_that_changes_is_stitched_anew(database: Database, changed: Document) -> None:
    await stitched(database, document("1", "storm"), document("2", "rain", day=1, reply_to="1"))
    assert (await stitched(database, changed))["2"] == changed.text


async def test_a_reply_that_changes_keeps_its_context(database: Database) -> None:
    root = document("1", "storm")
    await stitched(database, root, document("2", "rain", day=1, reply_to="1"))
    assert (await stitched(database, document("2", "snow", day=1, reply_to="1")))["2"] == "storm"


async def test_a_reply_that_answers_nothing_any_more_loses_its_context(database: Database) -> None:
    await stitched(database, document("1", "storm"), document("2", "rain", day=1, reply_to="1"))
    assert (await stitched(database, document("2", "rain")))["2"] is None


async def test_a_context_survives_the_end_of_its_root(database: Database) -> None:
    await stitched(database, document("1", "storm"), document("2", "rain", day=1, reply_to="1"))
    await run_sql(database, "DELETE FROM document WHERE external_id = '1'")
    assert await stitched(database) == {"2": "storm"}


async def test_a_thread_is_one_text_under_its_first_post(database: Database) -> None:
    thread = [
        document("1", "storm comes", author="ana", shown="Storm comes..."),
        document("2", "tomorrow", author="ana", day=0.001, shown="...tomorrow,"),
        document("3", "at noon", author="ana", day=0.002, shown="at noon."),
        document("4", "calm", author="ana", day=0.003, shown="Calm."),
    ]
    rest = "...tomorrow,\nat noon."
    assert await stitched(database, *thread) == {"1": rest, "2": None, "3": None, "4": None}
    corpus = await Corpora(database).get("c")
    first, second, third, _ = await read_back(database, corpus)
    assert first.frequencies == {"storm": 1, "comes": 1, "tomorrow": 1, "at": 1, "noon": 1}
    assert (second.frequencies, third.frequencies) == ({}, {})
    assert (first.flags, second.flags) == (Flag.JOINED, Flag.CONTINUATION)
    shown = await DocumentLookup(database).document(corpus, "1")
    assert shown
    assert shown.candidate.text == "Storm comes...\n...tomorrow,\nat noon."
    stored = [each async for page in Documents(database).pages(corpus) for each in page]
    assert {(each.text, each.flags) for each in stored} == {
        (each.text, Flag.NONE) for each in thread
    }


async def test_a_thread_whose_part_changes_is_joined_anew(database: Database) -> None:
    first = document("1", "storm comes", author="ana", shown="Storm comes...")
    second = document("2", "soon", author="ana", day=0.001, shown="...soon")
    assert (await stitched(database, first, second))["1"] == "...soon"
    alone = document("2", "calm", author="ana", day=0.001, shown="Calm")
    assert await stitched(database, alone) == {"1": None, "2": None}
    assert (await stitched(database, second))["1"] == "...soon"
    await stitched(database, document("1", "rain", author="ana", day=-1, shown="Rain"))
    _, again = await read_back(database, await Corpora(database).get("c"))
    assert (again.frequencies, again.flags) == ({"soon": 1}, Flag.NONE)


async def test_messages_of_a_chat_are_never_joined(database: Database) -> None:
    corpus = await load(database, "c", [document("1", "a", shown="A...")], kind=Kind.PERSONAL)
    await Documents(database).upsert(corpus, [document("2", "b", day=0.001, shown="...b")])
    assert await Documents(database).stitch_threads(corpus) == 0


# --- after a load ---------------------------------------------------------------------------


async def test_settling_empties_pending_lists_and_analyzes_tables(database: Database) -> None:
    draw = random.Random(1)
    texts = [" ".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=n % 25)) for n in range(400)]
    corpus = await load_texts(database, "c", texts)
    await Documents(database).settle(corpus)
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT gin_clean_pending_list(indexrelid::regclass) AS pages FROM pg_index"
            " JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam"
            " WHERE indrelid = $1::text::regclass AND amname = 'gin'",
            f"document_{corpus.id}",
        )
        rows_known = await connection.fetchval(
            "SELECT reltuples FROM pg_class WHERE oid = $1::text::regclass", f"document_{corpus.id}"
        )
        lexeme_pages = await connection.fetchval("SELECT gin_clean_pending_list('lexeme_trigram')")
    assert [row["pages"] for row in rows] == [0] * len(CLASSES)
    assert lexeme_pages == 0
    assert rows_known == 400


async def test_settling_an_empty_corpus_succeeds(database: Database) -> None:
    corpus = await new_corpus(database)
    await Documents(database).settle(corpus)
    assert await Corpora(database).get(corpus.name) == corpus

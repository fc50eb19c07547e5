"""Vectors that keep up, in the database: a little at a time, new texts first, nothing twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from db.corpus.corpora import Corpora
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.nearest import CorpusVocabulary
from engine.embed.fill import KeepUp, Slice, fill_vectors, share_moved
from engine.embed.local import TfidfEmbedder
from engine.errors import StorageError
from engine.values import Corpus
from engine.vectors import range_of
from tests.database import fetch_rows, fetch_value, run_sql
from tests.db.loading import document, load, load_texts
from tests.db.vectors import WordModel

HOUR = 3601.0


@dataclass
class Clock:
    """Goes on by a second whenever it is looked at."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@dataclass
class Turns:
    """Turns of one model with a clock of its own."""

    embeddings: Embeddings
    model: WordModel = field(default_factory=WordModel)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.keep_up = KeepUp(self.embeddings, clock=self.clock, batch=2)

    async def turn(self, corpus: Corpus, seconds: float = 1000.0) -> int:
        done = await self.keep_up.turn(self.model, corpus, until=self.clock.now + seconds)
        return done.embedded


async def share(embeddings: Embeddings, corpus: Corpus) -> float:
    space = await embeddings.space(corpus, "words")
    return space.share if space else 0.0


async def test_a_turn_embeds_what_fits_its_time_and_the_next_goes_on(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", [f"text {n}" for n in range(10)])
    turns = Turns(embeddings)
    assert await turns.turn(corpus, seconds=0) == 2  # a batch at least
    assert await turns.turn(corpus, seconds=2) == 4
    assert await share(embeddings, corpus) == pytest.approx(0.6)
    assert await turns.turn(corpus) == 4
    assert await turns.turn(corpus) == 0
    assert sorted(turns.model.documents) == sorted(f"text {n}" for n in range(10))
    assert await share(embeddings, corpus) == 1


async def test_news_get_vectors_at_once_and_changed_texts_within_the_hour(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one", "two"])
    turns = Turns(embeddings)
    assert await turns.turn(corpus) == 2
    changed = [document("0", "one and a half", day=1), document("9", "three", day=2)]
    corpus = await load(database, "c", changed)
    assert await turns.turn(corpus) == 1
    assert turns.model.documents[-1] == "three"
    assert await turns.turn(corpus) == 0
    turns.clock.now += HOUR
    assert await turns.turn(corpus) == 1
    assert turns.model.documents[-1] == "one and a half"


# Has the server do as Citus does: it refuses the join of vectors that are here with texts that are
# on a worker.
_PLACE = """
CREATE FUNCTION refuse_join() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_query() LIKE '%e.document_id = d.id%' THEN
        RAISE feature_not_supported
        USING MESSAGE = 'direct joins of distributed and local tables';
    END IF;
    RETURN true;
END $$;
ALTER TABLE document_{id} RENAME TO staged_{id};
CREATE VIEW document_{id} AS SELECT * FROM staged_{id} WHERE refuse_join();
UPDATE corpus SET placed_postings = false WHERE id = {id}
"""


async def test_a_corpus_placed_since_this_process_read_it_is_embedded(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", [f"text {n}" for n in range(6)])
    turns = Turns(embeddings)
    assert await turns.turn(corpus, seconds=0) == 2
    await run_sql(database, _PLACE.format(id=corpus.id))
    assert await turns.turn(corpus) == 4
    await run_sql(database, "UPDATE corpus SET placed_postings = NULL")
    with pytest.raises(StorageError, match="direct joins"):  # of a corpus that is here
        await turns.turn(corpus)


async def test_a_turn_after_a_restart_makes_nothing_twice(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", [f"text {n}" for n in range(6)])
    assert await Turns(embeddings).turn(corpus, seconds=0) == 2
    assert await Turns(embeddings).turn(corpus) == 4
    assert await Turns(embeddings).turn(corpus) == 0


async def test_texts_claimed_by_another_process_are_not_embedded(
    database: Database, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.vectors.RANGE", 2)
    corpus = await load_texts(database, "c", [f"text {n}" for n in range(6)])
    model_id = await embeddings.prepare("words", 16)
    held = range_of((await embeddings.find_unembedded(corpus, model_id, await ids(database)))[0].id)
    async with embeddings.claim(corpus, model_id, held) as claim:
        assert claim
        assert 4 <= await Turns(embeddings).turn(corpus) < 6
    await Turns(embeddings).turn(corpus)
    assert await embeddings.count(corpus, model_id) == 6


async def ids(database: Database) -> list[int]:
    return [row["id"] for row in await fetch_rows(database, "SELECT id FROM document")]


async def test_a_model_without_vectors_and_an_empty_corpus_cost_nothing(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one"])
    assert await Turns(embeddings, WordModel(dimensions=0)).turn(corpus) == 0
    empty = await load_texts(database, "empty", [])
    assert await Turns(embeddings).turn(empty) == 0
    assert await embeddings.models() == []


async def test_the_share_counts_each_document_once_and_forgets_what_is_gone(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", ["one", "two", "https://t.co/x", "four"])
    model_id = await embeddings.prepare("words", 16)
    ids = [one.id async for part in embeddings.find_missing(corpus, model_id) for one in part]
    some = await embeddings.find_unembedded(corpus, model_id, ids[:3])
    assert sorted(one.id for one in some) == sorted(ids[:3])
    turns = Turns(embeddings)
    await turns.turn(corpus, seconds=0)
    assert await embeddings.coverage() == {"c": {"words": 0.5}}
    await fill_vectors(embeddings, turns.model, corpus, progress=lambda *_: None)
    assert await embeddings.coverage() == {"c": {"words": 1.0}}  # the link alone included
    await run_sql(database, "DELETE FROM document WHERE external_id IN ('0', '1')")
    corpus = await Corpora(database).get("c")
    assert await share(embeddings, corpus) == 1
    corpus = await load(database, "c", [document("8", "eight"), document("9", "nine")])
    await fill_vectors(embeddings, turns.model, corpus, progress=lambda *_: None)
    embedded = await fetch_value(database, "SELECT embedded FROM embedding_state")
    assert embedded == corpus.documents == 4


async def test_vectors_made_of_frequencies_are_made_anew_when_these_have_moved(
    database: Database, embeddings: Embeddings
) -> None:
    corpus = await load_texts(database, "c", [f"rain and snow {n}" for n in range(20)])

    async def filled() -> tuple[int, bool]:
        current = await Corpora(database).get("c")
        embedder = TfidfEmbedder(CorpusVocabulary(database), current)
        done = await fill_vectors(embeddings, embedder, current, progress=lambda *_: None)
        return done.embedded, done.anew

    assert await filled() == (20, False)
    await load(database, "c", [document("a", "rain and snow again")])
    assert await filled() == (1, False)
    others = [document(f"t{n}", f"taxes rise again {n}") for n in range(20)]
    corpus = await load(database, "c", others)
    assert await filled() == (corpus.documents, True)
    assert await filled() == (0, False)


async def test_word_based_vectors_are_rebuilt_when_the_indexing_rules_change(
    database: Database, embeddings: Embeddings
) -> None:
    await load_texts(database, "c", ["rain and snow", "taxes rise"])
    keep_up = KeepUp(embeddings, clock=Clock())

    async def turn(index_version: int) -> Slice:
        await run_sql(database, "UPDATE corpus SET index_version = $1", index_version)
        corpus = await Corpora(database).get("c")
        embedder = TfidfEmbedder(CorpusVocabulary(database), corpus)
        return await keep_up.turn(embedder, corpus, until=1000)

    assert await turn(1) == Slice(embedded=2)
    assert await turn(1) == Slice(embedded=0)
    assert await turn(2) == Slice(embedded=2, anew=True)
    assert await turn(2) == Slice(embedded=0)
    await run_sql(database, "UPDATE embedding_state SET index_version = 0")
    corpus = await Corpora(database).get("c")
    embedder = TfidfEmbedder(CorpusVocabulary(database), corpus)
    filled = await fill_vectors(embeddings, embedder, corpus, progress=lambda *_: None)
    assert (filled.embedded, filled.anew) == (2, True)


@pytest.mark.parametrize(
    ("then", "now", "part"),
    [
        ({}, {"a": 0.5}, 0.0),
        ({"a": 0.5}, {"a": 0.5}, 0.0),
        ({"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 0.3}, 0.2),
        ({"a": 0.5}, {"b": 0.5}, 2.0),
    ],
)
def test_share_moved_measures_the_change_of_frequencies(
    then: Mapping[str, float], now: Mapping[str, float], part: float
) -> None:
    assert share_moved(then, now) == pytest.approx(part)

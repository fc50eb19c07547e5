"""Rows become the values that their classes would make of them."""

from datetime import UTC, datetime
from typing import Any, cast

import asyncpg

from db.pool import Database
from db.search.nearest import CorpusVocabulary
from db.search.statements import list_passing_flags, read_candidate, read_ranked_candidate
from engine.embed.local import TfidfEmbedder
from engine.search import Candidate, Filters
from engine.values import Flag
from tests.db.loading import load_texts
from tests.db.vectors import cosine

_COLUMNS: dict[str, Any] = {
    "id": 7,
    "external_id": "x7",
    "text": "A storm is coming",
    "context": "Any news?",
    "created_at": datetime(2020, 1, 2, tzinfo=UTC),
    "author": "ann",
    "url": "https://example.org/7",
    "lang": "en",
    "length": 3,
    "platform": "mastodon",
    "dated_by": None,
}
_ROW = cast("asyncpg.Record", {**_COLUMNS, "flags": 6, "bm25": 2.5, "frequencies": [1, 0, 2, 3]})


def test_a_row_becomes_a_candidate() -> None:
    assert read_candidate(_ROW) == Candidate(**_COLUMNS, flags=Flag(6), bm25=0.0, matched={})
    assert read_candidate(_ROW, bm25=1.5, matched={1: 2}) == Candidate(
        **_COLUMNS, flags=Flag(6), bm25=1.5, matched={1: 2}
    )


def test_frequencies_of_lexemes_are_added_up_by_term() -> None:
    found = read_ranked_candidate(_ROW, [(0, 0), (1, 1), (2, 2), (2, 3)])
    assert found.matched == {0: 1, 2: 5}
    assert found.bm25 == 2.5


def test_every_passing_flag_combination_is_listed_if_flags_are_filtered() -> None:
    assert list_passing_flags(Filters()) is None
    named = list_passing_flags(Filters(require=Flag.QUOTE, exclude=Flag.REPOST))
    assert named is not None
    assert len(named) == 2 ** (len(Flag) - 2)
    assert all(flags & Flag.QUOTE and not flags & Flag.REPOST for flags in named)


async def test_lexemes_carry_their_counts_in_the_text_and_the_corpus(database: Database) -> None:
    corpus = await load_texts(database, "c", ["storms and rain", "a storm", "sun"], "english")
    first, second = await CorpusVocabulary(database).lexemes(
        corpus, ["Storm after storm, then #RainSnow", "https://t.co/x"]
    )
    assert first["storm"] == (2, 2)
    assert first["rain"] == (1, 1)
    assert first["snow"] == (1, 0)
    assert second == {}


async def test_tfidf_finds_the_text_that_shares_the_rare_word(database: Database) -> None:
    texts = [f"people talk of weather {n}" for n in range(30)] + ["people talk of volcanoes"]
    corpus = await load_texts(database, "c", texts, "english")
    embedder = TfidfEmbedder(CorpusVocabulary(database), corpus)
    asked = await embedder.embed_query("A volcano, say people")
    weather, volcanoes = await embedder.embed_documents([texts[0], texts[-1]])
    assert cosine(asked, volcanoes) > 2 * cosine(asked, weather)
    assert await embedder.embed_query("A volcano, say people") == asked

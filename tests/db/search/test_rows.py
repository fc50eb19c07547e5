"""Rows become the values that their classes would make of them."""

from datetime import UTC, datetime
from typing import Any, cast

import asyncpg
import pytest

from db.search.rows import ranked_candidate, read_candidate
from engine.search import Candidate
from engine.values import Flag

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


def test_a_candidate_cannot_be_changed_and_shares_nothing() -> None:
    one, other = read_candidate(_ROW), read_candidate(_ROW)
    with pytest.raises(AttributeError):
        one.bm25 = 3.0  # type: ignore[misc]  # frozen: that is the point
    assert one.ranks is not other.ranks
    assert one.asked_for is not other.asked_for


def test_frequencies_of_lexemes_are_added_up_by_term() -> None:
    found = ranked_candidate(_ROW, [(0, 0), (1, 1), (2, 2), (2, 3)])
    assert found.matched == {0: 1, 2: 5}
    assert found.bm25 == 2.5

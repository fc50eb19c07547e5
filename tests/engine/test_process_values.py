"""Values come out of a frame as they went in, by their types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import IntFlag, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.feeds.feed import FeedEntry, ParsedFeed
from engine.process_worker import pack, unpack


class Colour(StrEnum):
    RED = "red"


class Mark(IntFlag):
    NONE = 0
    SEEN = 1
    KEPT = 2


@dataclass(frozen=True, slots=True)
class Inner:
    when: datetime | None
    content: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    text: str
    inner: tuple[Inner, ...]
    by_name: Mapping[str, Inner]
    pairs: tuple[tuple[str, int], ...]
    row: tuple[str, float, Colour]
    marks: Mark
    words: Sequence[str]
    known: frozenset[str]
    number: int
    other: Inner | None = None
    meta: Mapping[str, object]


MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5, minutes=-30))]))
TEXTS = st.text(alphabet=st.characters(exclude_categories=[]))  # lone surrogates too
INNER = st.builds(Inner, st.none() | MOMENTS, st.binary())
OUTER = st.builds(
    Outer,
    text=TEXTS,
    inner=st.lists(INNER).map(tuple),
    by_name=st.dictionaries(TEXTS, INNER),
    pairs=st.lists(st.tuples(TEXTS, st.integers())).map(tuple),
    row=st.tuples(TEXTS, st.floats(allow_nan=False, allow_infinity=False), st.just(Colour.RED)),
    marks=st.sampled_from([Mark.NONE, Mark.SEEN, Mark.SEEN | Mark.KEPT]),
    words=st.lists(TEXTS),
    known=st.frozensets(TEXTS),
    number=st.integers(-(2**70), 2**70),
    other=st.none() | INNER,
    meta=st.dictionaries(TEXTS, st.none() | st.booleans() | TEXTS),
)


@given(OUTER)
def test_a_value_comes_out_as_it_went_in(value: Outer) -> None:
    found = unpack(Outer, pack(value))
    assert found == value
    assert (type(found.marks), type(found.row[2])) == (Mark, Colour)


def test_return_types_of_workers_can_be_packed() -> None:
    entry = FeedEntry(identity="1", title="A", published=datetime(2020, 3, 3, tzinfo=UTC))
    feed = ParsedFeed(entries=(entry,), ttl=60.0)
    assert unpack(ParsedFeed, pack(feed)) == feed
    kind: Any = ParsedFeed | None
    assert unpack(kind, pack(None)) is None
    assert unpack(bytes, pack(b"\x00\xff")) == b"\x00\xff"
    assert unpack(list[float], pack([0.5])) == [0.5]


@pytest.mark.parametrize("kind", [complex, int | str, tuple[complex, ...], type])
def test_unsupported_types_raise_an_error(kind: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        unpack(kind, b"[1]")
    with pytest.raises(TypeError):
        pack(object())

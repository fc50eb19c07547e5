"""The filters of a headline as a condition, and as combinations of flags."""

from db.search.rows import passes, passing_flags
from engine.search import Filters
from engine.values import Flag


def test_every_filter_stands_at_its_parameter() -> None:
    written = passes("$5", "$6", "$7", "$8")
    assert "created_at < $5" in written
    assert "created_at >= $6" in written
    assert "flags & $7::integer = $7" in written
    assert "flags & $8::integer = 0" in written


def test_without_flags_no_combination_is_named() -> None:
    assert passing_flags(Filters()) is None


def test_each_combination_that_passes_is_named() -> None:
    named = passing_flags(Filters(require=Flag.QUOTE, exclude=Flag.REPOST))
    assert named is not None
    assert len(named) == 2 ** (len(Flag) - 2)
    assert all(flags & Flag.QUOTE and not flags & Flag.REPOST for flags in named)

"""The filters of a headline as a condition, and as combinations of flags."""

from db.search.rows import build_condition, passing_flags
from engine.search import Filters
from engine.values import Flag


def test_every_filter_uses_its_numbered_parameter() -> None:
    written = build_condition("$5", "$6", "$7", "$8")
    assert "created_at < $5" in written
    assert "created_at >= $6" in written
    assert "flags & $7::integer = $7" in written
    assert "flags & $8::integer = 0" in written


def test_filters_without_flags_list_no_flag_combinations() -> None:
    assert passing_flags(Filters()) is None


def test_every_passing_flag_combination_is_listed() -> None:
    named = passing_flags(Filters(require=Flag.QUOTE, exclude=Flag.REPOST))
    assert named is not None
    assert len(named) == 2 ** (len(Flag) - 2)
    assert all(flags & Flag.QUOTE and not flags & Flag.REPOST for flags in named)

"""Failed attempts are repeated ever more rarely, and never all at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.posting.choose import pause_before


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 320), (8, 640), (9, 900), (5000, 900)]
)
def test_each_pause_is_twice_the_one_before_up_to_a_limit(attempts: int, seconds: float) -> None:
    assert pause_before(attempts, 0.0).total_seconds() == seconds


@given(attempts=st.integers(1, 100), jitter=st.floats(0, 1))
def test_jitter_lengthens_a_pause_by_at_most_a_fifth(attempts: int, jitter: float) -> None:
    shortest, longest = pause_before(attempts, 0.0), pause_before(attempts, 1.0)
    assert shortest <= pause_before(attempts, jitter) <= longest
    assert longest / shortest == pytest.approx(1.2)

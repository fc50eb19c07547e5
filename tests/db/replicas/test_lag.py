"""How far a standby is behind follows from what this process noted of the primary."""

from hypothesis import given
from hypothesis import strategies as st

from db.replicas import PROMOTED, Notes, Sight


def sight(
    position: int, *, standby: bool = False, system: str = "a/1", started: str = "noon"
) -> Sight:
    return Sight(system=system, standby=standby, position=position, started=started)


def noted(*notes: tuple[float, int]) -> Notes:
    all_of_them = Notes()
    for at, position in notes:
        all_of_them.note(sight(position), at)
    return all_of_them


def test_a_standby_holds_the_latest_moment_that_it_has_replayed() -> None:
    notes = noted((1.0, 100), (2.0, 200), (3.0, 300))
    held = [notes.held_by(sight(at, standby=True)) for at in (99, 100, 250, 300, 999)]
    assert held == [None, 1.0, 2.0, 3.0, 3.0]


def test_a_quiet_primary_leaves_no_lag() -> None:
    assert noted((1.0, 100), (2.0, 100), (3.0, 100)).held_by(sight(100, standby=True)) == 3.0


def test_lag_is_unknown_before_the_primary_was_seen() -> None:
    assert Notes().held_by(sight(100, standby=True)) is None
    assert Notes().fault(sight(100, standby=True)) == ""


def test_another_database_and_a_promoted_standby_are_never_read() -> None:
    notes = noted((1.0, 100))
    promoted = sight(100, started="at one")
    assert notes.held_by(promoted) is None
    assert notes.fault(promoted) == PROMOTED
    other = sight(100, standby=True, system="b/1")
    assert notes.held_by(other) is None
    assert "no copy" in notes.fault(other)


def test_the_primary_has_no_lag() -> None:
    notes = noted((1.0, 100), (2.0, 200))
    assert notes.fault(sight(250)) == ""
    assert notes.held_by(sight(250)) == 2.0


def test_positions_of_the_old_primary_are_ignored_after_a_promotion() -> None:
    notes = noted((1.0, 100), (2.0, 200))
    notes.note(sight(300, started="at one"), 3.0)
    held = [notes.held_by(sight(at, standby=True)) for at in (250, 300)]
    assert held == [None, 3.0]
    assert notes.fault(sight(400)) == PROMOTED, "the old primary, should it come back"


def test_a_primary_that_was_restored_begins_anew() -> None:
    notes = noted((1.0, 100), (2.0, 200), (3.0, 50))
    assert notes.held_by(sight(40, standby=True)) is None
    assert notes.held_by(sight(60, standby=True)) == 3.0


@given(st.lists(st.integers(0, 5), min_size=1, max_size=800), st.integers(0, 2000))
def test_the_held_moment_is_the_latest_replayed_one(steps: list[int], replayed: int) -> None:
    notes, position, history = Notes(), 0, []
    for at, step in enumerate(steps):
        position += step
        notes.note(sight(position), at)
        history.append(position)
    held = notes.held_by(sight(replayed, standby=True))
    reached = [at for at, position in enumerate(history) if position <= replayed]
    assert held is None or held == reached[-1]
    assert held is not None or not reached or len(steps) > 600

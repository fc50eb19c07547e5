"""An idle round of searching does not look at all corpora again."""

from datetime import timedelta

from bot.jobs.search import Memory
from tests.db.news import NOW, SECOND

ROUND = 15 * SECOND


def test_idle_state_holds_after_two_rounds_with_the_same_change() -> None:
    memory = Memory()
    assert not memory.still_holds(4, NOW)
    memory.keep(["demo"], 4, NOW, anything=False)
    assert not memory.still_holds(4, NOW + ROUND), "change 4 may have become visible meanwhile"
    memory.keep(["demo"], 4, NOW + ROUND, anything=False)
    assert memory.still_holds(4, NOW + 2 * ROUND)
    assert memory.corpora == ["demo"]


def test_idle_state_ends_with_a_change_or_after_minutes() -> None:
    memory = Memory()
    for number in range(2):
        memory.keep([], 4, NOW + number * ROUND, anything=False)
    assert not memory.still_holds(5, NOW + 2 * ROUND)
    assert not memory.still_holds(4, NOW + timedelta(minutes=6))


def test_round_with_finds_does_not_start_the_idle_state() -> None:
    memory = Memory()
    for number in range(2):
        memory.keep([], 4, NOW + number * ROUND, anything=True)
    assert not memory.still_holds(4, NOW + 2 * ROUND)


def test_what_was_left_unjudged_is_tried_again_every_ten_minutes() -> None:
    memory = Memory()
    assert memory.takes_up(NOW)
    memory.note_taken_up(NOW)
    assert not memory.takes_up(NOW + timedelta(minutes=9))
    assert memory.takes_up(NOW + timedelta(minutes=10))

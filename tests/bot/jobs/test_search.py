"""An idle round of searching does not look at all corpora again."""

from datetime import timedelta

from bot.jobs.search import Memory
from tests.db.news import NOW, SECOND

ROUND = 15 * SECOND


def test_nothing_left_is_remembered_once_two_rounds_saw_the_same_change() -> None:
    memory = Memory()
    assert not memory.still_holds(4, NOW)
    memory.keep(["demo"], 4, NOW, anything=False)
    assert not memory.still_holds(4, NOW + ROUND), "change 4 may have become visible meanwhile"
    memory.keep(["demo"], 4, NOW + ROUND, anything=False)
    assert memory.still_holds(4, NOW + 2 * ROUND)
    assert memory.corpora == ["demo"]


def test_a_change_or_some_minutes_make_it_look_again() -> None:
    memory = Memory()
    for number in range(2):
        memory.keep([], 4, NOW + number * ROUND, anything=False)
    assert not memory.still_holds(5, NOW + 2 * ROUND)
    assert not memory.still_holds(4, NOW + timedelta(minutes=6))


def test_a_round_that_found_something_is_not_the_last() -> None:
    memory = Memory()
    for number in range(2):
        memory.keep([], 4, NOW + number * ROUND, anything=True)
    assert not memory.still_holds(4, NOW + 2 * ROUND)

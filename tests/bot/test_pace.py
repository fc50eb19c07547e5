"""How often somebody may ask."""

from hypothesis import given
from hypothesis import strategies as st

from bot.pace import EvenPace, Holds, RateLimit


def test_a_minute_s_worth_passes_at_once_and_then_one_by_one() -> None:
    limit = RateLimit(6)
    assert [limit.wait("192.0.2.1", 0.0) for _ in range(6)] == [0.0] * 6
    assert limit.wait("192.0.2.1", 0.0) == 10.0
    assert limit.wait("192.0.2.1", 4.0) == 6.0
    assert limit.wait("192.0.2.1", 10.0) == 0.0
    assert limit.wait("192.0.2.1", 10.0) == 10.0


def test_rate_of_one_passes_again_after_a_minute() -> None:
    limit = RateLimit(1)
    passed = [not limit.wait("ana", 100.0 + second) for second in (0, 1, 59, 60, 61)]
    assert passed == [True, False, False, True, False]


def test_each_asker_has_a_separate_limit() -> None:
    limit = RateLimit(1)
    assert limit.wait("192.0.2.1", 0.0) == 0.0
    assert limit.wait("192.0.2.1", 0.0) > 0
    assert limit.wait("192.0.2.2", 0.0) == 0.0


def test_minus_one_is_no_limit() -> None:
    limit = RateLimit(-1)
    assert not any(limit.wait("192.0.2.1", 0.0) for _ in range(10_000))


def test_no_more_askers_are_kept_than_were_allowed() -> None:
    limit = RateLimit(1, maximum=3)
    for number in range(10):
        limit.wait(f"192.0.2.{number}", float(number))
    assert len(limit) == 3
    assert limit.wait("192.0.2.9", 9.0) > 0  # the last ones are known
    assert limit.wait("192.0.2.1", 9.0) == 0.0  # the first one is forgotten


@given(st.integers(1, 100), st.lists(st.floats(0, 30), max_size=200))
def test_never_more_pass_than_burst_and_pace_allow(rate: int, pauses: list[float]) -> None:
    limit, now, passed = RateLimit(rate), 0.0, 0
    for pause in pauses:
        now += pause
        passed += limit.wait("192.0.2.1", now) == 0.0
    assert passed <= rate + now * rate / 60 + 1e-6


@given(st.integers(1, 100), st.lists(st.floats(0, 5), min_size=1, max_size=200))
def test_whoever_waits_as_told_passes(rate: int, pauses: list[float]) -> None:
    limit, now = RateLimit(rate), 0.0
    for pause in pauses:
        now += pause
        if wait := limit.wait("192.0.2.1", now):
            now += wait
            assert limit.wait("192.0.2.1", now) == 0.0


def test_turns_are_reserved_one_after_the_other() -> None:
    limit = RateLimit(2, window=1.0)
    assert [limit.reserve("a", 0.0) for _ in range(5)] == [0.0, 0.0, 0.5, 1.0, 1.5]
    assert limit.reserve("b", 0.0) == 0.0
    assert limit.reserve("a", 3.0) == 0.0


def test_even_pace_spaces_turns_and_saves_none() -> None:
    pace = EvenPace(10)
    waits = [pace.reserve(now) for now in (100.0, 100.0, 100.05, 200.0, 200.0)]
    assert [round(wait, 6) for wait in waits] == [0.0, 0.1, 0.15, 0.0, 0.1]


def test_held_chat_does_not_delay_others() -> None:
    holds = Holds()
    holds.hold_chat("a", 30.0, 100.0)
    holds.hold_chat("a", 10.0, 101.0)
    assert (holds.wait("a", 101.0), holds.wait("b", 101.0), holds.wait_all(101.0)) == (29, 0, 0)
    assert holds.wait("a", 130.0) == 0.0


def test_two_overlapping_holds_delay_all_chats() -> None:
    holds = Holds()
    holds.hold_chat("a", 30.0, 100.0)
    holds.hold_chat("b", 5.0, 110.0)
    assert [holds.wait(chat, 110.0) for chat in "abc"] == [20.0, 5.0, 5.0]
    assert (holds.wait_all(114.0), holds.wait_all(115.0)) == (1.0, 0.0)


def test_consecutive_holds_do_not_delay_other_chats() -> None:
    holds = Holds()
    holds.hold_chat("a", 30.0, 100.0)
    holds.hold_chat("b", 30.0, 130.0)
    assert holds.wait("c", 130.0) == 0.0

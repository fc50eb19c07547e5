"""Room for events, in all and in each chat; their turns; and pastes that come close together."""

from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.conversation.conversation import RecentMessages, TurnQueue
from bot.conversation.gates import Backpressure, Room
from tests.bot.conversing import PRIVATE, event
from tests.bot.prophecies import NOW


@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(1, 10), st.integers(1, 10))
def test_admitted_events_never_exceed_twice_the_bounds(
    chats: list[str], maximum: int, max_in_chat: int
) -> None:
    crowd = Backpressure(maximum=maximum, max_in_chat=max_in_chat)
    inside: list[str] = []
    with ExitStack() as stack:
        for chat in chats:
            room = crowd.room(chat)
            crowded = len(inside) >= maximum or inside.count(chat) >= max_in_chat
            assert (room is Room.FREE) is not crowded
            if room is not Room.FULL:
                stack.enter_context(crowd.count_event(chat))
                inside.append(chat)
        assert len(inside) <= 2 * maximum
        assert all(inside.count(chat) <= 2 * max_in_chat for chat in "abc")
        if len(inside) < len(chats):  # somebody was left alone, and for a reason
            assert len(inside) == 2 * maximum or any(
                inside.count(chat) == 2 * max_in_chat for chat in "abc"
            )
    assert crowd.room("a") is Room.FREE


def test_turns_come_in_the_order_of_arrival() -> None:
    queue = TurnQueue(1)
    with ExitStack() as stack:
        stack.enter_context(queue.line_up())
        with queue.line_up() as waiting:
            assert not waiting.is_set()
            stack.close()
            assert waiting.is_set()


def test_messages_within_a_minute_count_as_several_pastes() -> None:
    recent, later = RecentMessages(), NOW + timedelta(seconds=59)
    first, second = event("Coffee"), event("Tea", now=later)
    recent.note(first)
    assert not recent.is_one_of_several(first)
    recent.note(second)
    assert recent.is_one_of_several(first)
    assert recent.is_one_of_several(second)
    third = event("Milk", now=later + timedelta(minutes=1))
    recent.note(third)
    assert not recent.is_one_of_several(third)


def test_pastes_are_remembered_of_the_latest_chats_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.conversation.conversation._CHATS_REMEMBERED", 2)
    recent = RecentMessages()
    written = {
        chat: [event(text, place=replace(PRIVATE, chat_id=chat)) for text in ("Tea", "Milk")]
        for chat in "abc"
    }
    for chat, number in ("a0", "b0", "b1", "a1", "c0", "c1"):
        recent.note(written[chat][int(number)])
    several = [recent.is_one_of_several(first) for first, _ in written.values()]
    assert several == [True, False, True]
